// The pods of a case, one after another: each is decided, and the cluster changes accordingly.
package main

import (
	"context"
	"sort"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
)

// noteLimit is how long the API lets an event's note be; longer ones are cut.
const noteLimit = 1024

// started is when the first pod of every case counts as started, less a second.
var started = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (c *corpusCase) decide() ([]*expectation, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	cluster, err := newCluster(ctx, c, 100, nil)
	if err != nil {
		return nil, err
	}
	pods, err := c.pods()
	if err != nil {
		return nil, err
	}
	var told []*expectation
	for number, pod := range pods {
		start := metav1.NewTime(started.Add(time.Duration(number+1) * time.Second))
		expect := &expectation{Pod: pod.Namespace + "/" + pod.Name}
		if err := cluster.decide(pod, start, expect); err != nil {
			expect.Result, expect.Error = "error", err.Error()
		}
		if c.Focus == "replay" {
			expect = expect.briefly()
		}
		told = append(told, expect)
	}
	return told, nil
}

// decide tells what becomes of a pod, and lets it become true.
func (c *cluster) decide(pod *v1.Pod, start metav1.Time, expect *expectation) error {
	for _, plugin := range c.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(c.ctx, pod); !status.IsSuccess() {
			expect.Result, expect.PreEnqueue = "gated", refusalWords(status.WithPlugin(plugin.Name()))
			return nil
		}
	}
	if err := c.scheduler.Cache.UpdateSnapshot(logr.Discard(), c.snapshot); err != nil {
		return err
	}
	if err := c.pods().Add(pod); err != nil { // preemption looks the pod up
		return err
	}
	if c.snapshot.NumNodesInPlacement() == 0 {
		expect.Result, expect.Message = "unschedulable", scheduler.ErrNoNodesAvailable.Error()
		return c.pods().Delete(pod)
	}
	attempt, err := c.try(pod, "")
	if err != nil {
		return err
	}
	expect.PreFilter, expect.Rejected = attempt.preFilterWords(), attempt.rejected()
	if names := attempt.feasibleNames(); len(names) > 0 {
		expect.Feasible = names
		if err := attempt.choose(expect); err != nil {
			return err
		}
		expect.Result = "scheduled"
		return c.place(attempt, expect, start)
	}
	return c.fail(attempt, expect, start)
}

// choose finds the best nodes; the first of them by name is taken.
func (a *attempt) choose(expect *expectation) error {
	names := a.feasibleNames()
	switch {
	case a.nominated != "":
		expect.Via, expect.Best = "nominated", []string{a.nominated}
	case len(names) == 1:
		expect.Via, expect.Best = "single", names
	default:
		scored, err := a.score()
		if err != nil {
			return err
		}
		expect.Best = names
		if scored != nil {
			expect.Scores, expect.Best = scoreWords(scored)
		}
	}
	expect.Node = expect.Best[0]
	return nil
}

func scoreWords(scored []fwk.NodePluginScores) (*scores, []string) {
	words := &scores{Plugins: []string{}, Nodes: map[string][]int64{}}
	for _, plugin := range scored[0].Scores {
		words.Plugins = append(words.Plugins, plugin.Name)
	}
	highest := scored[0].TotalScore
	for _, node := range scored {
		row := make([]int64, 0, len(node.Scores)+1)
		for _, plugin := range node.Scores {
			row = append(row, plugin.Score)
		}
		words.Nodes[node.Name] = append(row, node.TotalScore)
		highest = max(highest, node.TotalScore)
	}
	var best []string
	for _, node := range scored {
		if node.TotalScore == highest {
			best = append(best, node.Name)
		}
	}
	sort.Strings(best)
	return words, best
}

// place assumes the pod on the chosen node and lets plugins reserve what it needs there.
func (c *cluster) place(a *attempt, expect *expectation, start metav1.Time) error {
	placed := a.pod.DeepCopy()
	placed.Spec.NodeName = expect.Node
	placed.Status.StartTime = &start
	if err := c.scheduler.Cache.AssumePod(logr.Discard(), placed); err != nil {
		return err
	}
	c.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(placed)
	if err := c.pods().Update(placed); err != nil {
		return err
	}
	if status := c.framework.RunReservePluginsReserve(c.ctx, a.state, placed, expect.Node); !status.IsSuccess() {
		expect.Result, expect.ReserveStatus = "error", refusalWords(status)
		c.framework.RunReservePluginsUnreserve(c.ctx, a.state, placed, expect.Node)
		return c.remove(placed)
	}
	expect.Volumes = c.reservedVolumes(a.state, placed, expect.Node)
	return nil
}

// reservedVolumes lets VolumeBinding write its choices to the API, where they are caught. With a context that has ended
// it does not wait for anybody to complete the bindings.
func (c *cluster) reservedVolumes(state fwk.CycleState, pod *v1.Pod, node string) *volumes {
	hasClaims := false
	isReserved := false // if not, the choices of the filter were never carried out, not even in memory
	for _, plugin := range c.framework.ListPlugins().Reserve.Enabled {
		isReserved = isReserved || plugin.Name == names.VolumeBinding
	}
	for _, volume := range pod.Spec.Volumes {
		hasClaims = hasClaims || volume.PersistentVolumeClaim != nil || volume.Ephemeral != nil
	}
	if !hasClaims || !isReserved {
		return nil
	}
	ended, end := context.WithCancel(c.ctx)
	end()
	*c.written = volumes{}
	c.framework.RunPreBindPlugins(ended, state, pod, node)
	if len(c.written.Static)+len(c.written.Provision) == 0 {
		return nil
	}
	found := *c.written
	sort.Strings(found.Provision)
	return &found
}

// fail runs the post-filters, and tries the pod once more where preemption has made room.
func (c *cluster) fail(a *attempt, expect *expectation, start metav1.Time) error {
	expect.Result = "unschedulable"
	if c.framework.HasPostFilterPlugins() {
		if err := c.postFilter(a, expect); err != nil {
			return err
		}
	}
	expect.Message = a.fitError().Error()
	if len(expect.Message) > noteLimit {
		expect.Event = expect.Message[:noteLimit-4] + " ..."
	}
	expect.UnschedulablePlugins = sets.List(a.diagnosis.UnschedulablePlugins)
	if expect.Preemption == nil || expect.Preemption.NominatedNode == "" {
		return c.pods().Delete(a.pod)
	}
	again, err := c.retry(a.pod, expect.Preemption.NominatedNode)
	if err != nil {
		return err
	}
	if again == nil {
		return c.pods().Delete(a.pod)
	}
	expect.Preemption.Fits = true
	expect.Result, expect.Node = "preempted", expect.Preemption.NominatedNode
	return c.place(again, expect, start)
}

// retry tries a pod on one node only; nil if it does not fit there either.
func (c *cluster) retry(pod *v1.Pod, name string) (*attempt, error) {
	if err := c.scheduler.Cache.UpdateSnapshot(logr.Discard(), c.snapshot); err != nil {
		return nil, err
	}
	again, err := c.try(pod, name)
	if err != nil || len(again.feasible) == 0 {
		return nil, err
	}
	return again, nil
}

// briefly is how cases of focus replay are told.
func (e *expectation) briefly() *expectation {
	brief := &expectation{Pod: e.Pod, Result: e.Result, Node: e.Node, Message: e.Message, Volumes: e.Volumes,
		PreEnqueue: e.PreEnqueue, Error: e.Error, ReserveStatus: e.ReserveStatus}
	if e.Scores != nil {
		row := e.Scores.Nodes[e.Best[0]]
		brief.BestScore, brief.Ties = &row[len(row)-1], len(e.Best)
	}
	if names, isNames := e.Feasible.([]string); isNames {
		brief.Feasible = len(names)
	}
	if e.Preemption != nil {
		brief.NominatedNode, brief.Victims = e.Preemption.NominatedNode, e.Preemption.Victims
	}
	return brief
}
