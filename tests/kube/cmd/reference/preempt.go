// Preemption: what the post-filters say, every candidate, and the one that is taken.
package main

import (
	"fmt"
	"math"
	"sort"

	v1 "k8s.io/api/core/v1"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	frameworkpreemption "k8s.io/kubernetes/pkg/scheduler/framework/preemption"
	"k8s.io/kubernetes/pkg/scheduler/util"
)

// postFilter runs the profile's post-filters, and removes the victims if there is something to gain.
func (c *cluster) postFilter(a *attempt, expect *expectation) error {
	result, status := c.framework.RunPostFilterPlugins(c.ctx, a.state, a.pod, a.diagnosis.NodeToStatus)
	a.diagnosis.PostFilterMsg = status.Message()
	words := &preemption{Code: status.Code().String(), Message: status.Message()}
	expect.Preemption = words
	if c.preemption == nil || status.Code() == fwk.Error {
		return nil
	}
	potential, err := a.diagnosis.NodeToStatus.NodesForStatusCode(c.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return err
	}
	nominated := a.diagnosis.NodeToStatus.Get(a.pod.Status.NominatedNodeName)
	isEligible, _ := c.preemption.PodEligibleToPreemptOthers(c.ctx, a.pod, nominated)
	words.Attempted = isEligible && len(potential) > 0
	if !status.IsSuccess() || result == nil {
		return nil
	}
	return c.preempt(a, potential, result.NominatedNodeName, words)
}

// preempt lists all candidates and takes the first by name of those that kube-scheduler would choose among at random.
// The one that it did choose has to be one of them.
func (c *cluster) preempt(a *attempt, potential []fwk.NodeInfo, chosen string, words *preemption) error {
	budgets, err := c.budgets()
	if err != nil {
		return err
	}
	evaluator := c.preemption.Evaluator
	candidates, _, err := evaluator.DryRunPreemption(c.ctx, a.state, a.pod, potential, budgets, 0, int32(len(potential)))
	if err != nil && len(candidates) == 0 {
		return err
	}
	sort.Slice(candidates, func(i, j int) bool { return candidates[i].Name() < candidates[j].Name() })
	for _, each := range candidates {
		victims := each.Victims()
		words.Candidates = append(words.Candidates, candidate{each.Name(), podNames(victims.Pods), victims.NumPDBViolations})
	}
	best := narrow(candidates)
	isAmongBest := false
	for _, each := range best {
		words.Ties = append(words.Ties, each.Name())
		isAmongBest = isAmongBest || each.Name() == chosen
	}
	if !isAmongBest {
		return fmt.Errorf("kube-scheduler preempts on %s, which is not among the best candidates %v", chosen, words.Ties)
	}
	victims := best[0].Victims()
	words.NominatedNode, words.Victims = best[0].Name(), podNames(victims.Pods)
	words.PDBViolations = victims.NumPDBViolations
	for _, victim := range victims.Pods {
		if err := c.remove(victim); err != nil {
			return err
		}
	}
	words.ClearedNominations = c.clearNominations(best[0].Name(), a.pod)
	return nil
}

// clearNominations takes the node away from less important pods that were to have it.
func (c *cluster) clearNominations(node string, pod *v1.Pod) []string {
	var cleared []*v1.Pod
	for _, other := range c.framework.NominatedPodsForNode(node) {
		if corev1helpers.PodPriority(other.GetPod()) < corev1helpers.PodPriority(pod) {
			cleared = append(cleared, other.GetPod())
		}
	}
	for _, other := range cleared {
		c.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(other)
	}
	found := podNames(cleared)
	sort.Strings(found)
	return found
}

// narrow keeps the candidates that are best by one criterion after another, until one is left or no criterion is.
func narrow(candidates []frameworkpreemption.Candidate) []frameworkpreemption.Candidate {
	for _, cost := range []func(*extenderv1.Victims) int64{
		func(victims *extenderv1.Victims) int64 { return victims.NumPDBViolations },
		func(victims *extenderv1.Victims) int64 { return int64(corev1helpers.PodPriority(victims.Pods[0])) },
		func(victims *extenderv1.Victims) int64 {
			var sum int64
			for _, pod := range victims.Pods {
				sum += int64(corev1helpers.PodPriority(pod)) + math.MaxInt32 + 1 // so that more victims cost more
			}
			return sum
		},
		func(victims *extenderv1.Victims) int64 { return int64(len(victims.Pods)) },
		func(victims *extenderv1.Victims) int64 { return -util.GetEarliestPodStartTime(victims).UnixNano() },
	} {
		var best []frameworkpreemption.Candidate
		lowest := int64(math.MaxInt64)
		for _, each := range candidates {
			switch price := cost(each.Victims()); {
			case price < lowest:
				best, lowest = []frameworkpreemption.Candidate{each}, price
			case price == lowest:
				best = append(best, each)
			}
		}
		if candidates = best; len(candidates) == 1 {
			break
		}
	}
	return candidates
}

func podNames(pods []*v1.Pod) []string {
	found := make([]string, 0, len(pods))
	for _, pod := range pods {
		found = append(found, pod.Namespace+"/"+pod.Name)
	}
	return found
}
