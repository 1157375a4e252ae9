// One pod is tried: filters, scores, and what its failure is called.
package main

import (
	"fmt"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// attempt is a pod on its way through the scheduling cycle, with every node looked at.
type attempt struct {
	cluster    *cluster
	pod        *v1.Pod
	state      fwk.CycleState
	preFilter  *fwk.Status
	restricted *fwk.PreFilterResult
	byPlugins  []string
	diagnosis  framework.Diagnosis
	feasible   []fwk.NodeInfo
	statuses   map[string]*fwk.Status // of the nodes that were filtered
	nominated  string                 // the pod's own nominated node, if it passed
}

// try looks at every node, or at one only if it is named.
func (c *cluster) try(pod *v1.Pod, only string) (*attempt, error) {
	a := &attempt{cluster: c, pod: pod, state: framework.NewCycleState(), statuses: map[string]*fwk.Status{}}
	a.diagnosis.NodeToStatus = framework.NewDefaultNodeToStatus()
	a.state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	nodes, err := c.snapshot.NodeInfos().List()
	if err != nil {
		return nil, err
	}
	var by sets.Set[string]
	a.restricted, a.preFilter, by = c.framework.RunPreFilterPlugins(c.ctx, a.state, pod)
	a.diagnosis.UnschedulablePlugins = by
	a.byPlugins = sets.List(by)
	if a.preFilter.IsRejected() {
		a.diagnosis.NodeToStatus.SetAbsentNodesStatus(a.preFilter)
		a.diagnosis.PreFilterMsg = a.preFilter.Message()
		a.diagnosis.AddPluginStatus(a.preFilter)
		return a, nil
	}
	if !a.preFilter.IsSuccess() {
		return nil, a.preFilter.AsError()
	}
	a.tryNominated()
	if !a.restricted.AllNodes() {
		nodes = a.restrictedNodes()
		reason := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", a.byPlugins)
		a.diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, reason))
	}
	for _, node := range nodes {
		if only != "" && node.Node().Name != only {
			continue
		}
		passed, err := a.filter(node, &a.diagnosis)
		if err != nil && a.nominated != "" {
			continue // kube-scheduler has its node, and would not have come here
		}
		if err != nil {
			return nil, err
		}
		if passed {
			a.feasible = append(a.feasible, node)
		}
	}
	return a, nil
}

// tryNominated looks at the pod's nominated node first, as kube-scheduler does. Plugins that refuse it are noted in a
// copy of the diagnosis, which is why some of them are forgotten; this too is as it is there.
func (a *attempt) tryNominated() {
	name := a.pod.Status.NominatedNodeName
	if name == "" {
		return
	}
	node, err := a.cluster.snapshot.Get(name)
	if err != nil {
		return // it is gone
	}
	aside := a.diagnosis
	if passed, err := a.filter(node, &aside); err == nil && passed { // an error is only logged
		a.nominated = name
	}
}

func (a *attempt) restrictedNodes() []fwk.NodeInfo {
	var nodes []fwk.NodeInfo
	for _, name := range sets.List(a.restricted.NodeNames) {
		if node, err := a.cluster.snapshot.Get(name); err == nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

func (a *attempt) filter(node fwk.NodeInfo, diagnosis *framework.Diagnosis) (bool, error) {
	status := a.cluster.framework.RunFilterPluginsWithNominatedPods(a.cluster.ctx, a.state, a.pod, node)
	if status.IsSuccess() {
		return true, nil
	}
	if status.Code() == fwk.Error {
		return false, status.AsError()
	}
	diagnosis.NodeToStatus.Set(node.Node().Name, status)
	diagnosis.AddPluginStatus(status)
	a.statuses[node.Node().Name] = status
	return false, nil
}

// score returns every feasible node's scores; none when nothing is configured to score.
func (a *attempt) score() ([]fwk.NodePluginScores, error) {
	c := a.cluster
	if !c.framework.HasScorePlugins() {
		return nil, nil
	}
	if status := c.framework.RunPreScorePlugins(c.ctx, a.state, a.pod, a.feasible); !status.IsSuccess() {
		return nil, status.AsError()
	}
	scored, status := c.framework.RunScorePlugins(c.ctx, a.state, a.pod, a.feasible)
	if !status.IsSuccess() {
		return nil, status.AsError()
	}
	return scored, nil
}

func (a *attempt) fitError() *framework.FitError {
	return &framework.FitError{Pod: a.pod, NumAllNodes: a.cluster.snapshot.NumNodesInPlacement(), Diagnosis: a.diagnosis}
}

// preFilterWords is what the corpus says of PreFilter: nothing, unless it refused the pod or restricted the nodes.
func (a *attempt) preFilterWords() *preFilter {
	if a.preFilter.IsRejected() {
		return &preFilter{refusal: *refusalWords(a.preFilter)}
	}
	if a.restricted.AllNodes() {
		return nil
	}
	names := sets.List(a.restricted.NodeNames)
	words := refusal{Code: fwk.Success.String(), Nodes: names}
	return &preFilter{refusal: words, Restricted: true, ByPlugins: a.byPlugins}
}

// rejected are the nodes that did not pass, those with the same answer together.
func (a *attempt) rejected() []*refusal {
	groups := map[string]*refusal{}
	for name, status := range a.statuses {
		words := refusalWords(status)
		key := words.Plugin + "\n" + words.Code + "\n" + strings.Join(words.Reasons, "\n")
		if groups[key] == nil {
			groups[key] = words
		}
		groups[key].Nodes = append(groups[key].Nodes, name)
	}
	var found []*refusal
	for _, group := range groups {
		sort.Strings(group.Nodes)
		found = append(found, group)
	}
	sort.Slice(found, func(i, j int) bool { return found[i].Nodes[0] < found[j].Nodes[0] })
	return found
}

func (a *attempt) feasibleNames() []string {
	found := make([]string, 0, len(a.feasible))
	for _, node := range a.feasible {
		found = append(found, node.Node().Name)
	}
	sort.Strings(found)
	return found
}

func refusalWords(status *fwk.Status) *refusal {
	reasons := append([]string(nil), status.Reasons()...)
	sort.Strings(reasons)
	return &refusal{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: reasons}
}
