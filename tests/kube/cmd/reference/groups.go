// The groups of pods of a case, one after another: kube-scheduler's own cycle for pod groups is run, and the cluster
// changes accordingly.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	internalqueue "k8s.io/kubernetes/pkg/scheduler/backend/queue"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// bindingLimit is how long members may take that are on their way to be bound.
const bindingLimit = 30 * time.Second

// groupRun is a case with groups, as it goes on. Bindings happen beside the cycle, therefore the lock.
type groupRun struct {
	cluster  *cluster
	members  map[string][]*v1.Pod // by group, in the order in which they are given
	numBound int

	lock       sync.Mutex
	changed    *sync.Cond
	waiting    map[types.UID]*framework.QueuedPodInfo // members that the queue would hand out
	bound      map[types.UID]string                   // node
	failed     map[types.UID]*memberFailure
	preemptor  string // for whom pods are evicted
	isForGroup bool   // is room being made for a group as a whole?
	isWaiting  bool   // was it?
	expect     *groupExpectation
	evicted    []*v1.Pod
	retryNodes map[types.UID]string // the nodes that members were promised by the last cycle
}

type memberFailure struct {
	status    *fwk.Status
	nominated string
}

// memberQueue hands out the members of a group that are not gated.
type memberQueue struct {
	internalqueue.SchedulingQueue
	groups *groupRun
}

func (q *memberQueue) PopSpecificPod(_ klog.Logger, pod *v1.Pod) *framework.QueuedPodInfo {
	return q.groups.waiting[pod.UID]
}

// decideGroups tells what becomes of every group.
func (c *corpusCase) decideGroups() ([]*groupExpectation, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	run := &groupRun{members: map[string][]*v1.Pod{}}
	run.changed = sync.NewCond(&run.lock)
	pods, err := c.pods()
	if err != nil {
		return nil, err
	}
	var names []string
	var pending []runtime.Object
	for _, pod := range pods {
		if pod.Spec.SchedulingGroup == nil || pod.Spec.SchedulingGroup.PodGroupName == nil {
			return nil, fmt.Errorf("pod %s/%s belongs to no group", pod.Namespace, pod.Name)
		}
		name := pod.Namespace + "/" + *pod.Spec.SchedulingGroup.PodGroupName
		if run.members[name] == nil {
			names = append(names, name)
		}
		run.members[name] = append(run.members[name], pod)
		pending = append(pending, pod)
	}
	if run.cluster, err = newCluster(ctx, c, 100, run.watch, pending...); err != nil {
		return nil, err
	}
	run.takeOver()
	var told []*groupExpectation
	for _, name := range names {
		expect, err := run.group(name)
		if err != nil {
			return nil, fmt.Errorf("group %s: %w", name, err)
		}
		told = append(told, expect)
	}
	return told, nil
}

// takeOver puts this run in the places where kube-scheduler takes pods from and tells what became of them.
func (r *groupRun) takeOver() {
	scheduler := r.cluster.scheduler
	for name, original := range scheduler.Profiles {
		scheduler.Profiles[name] = &orderedFramework{original, r}
	}
	scheduler.SchedulingQueue = &memberQueue{scheduler.SchedulingQueue, r}
	scheduler.FailureHandler = r.noteFailure
}

// watch catches evictions and the groups' conditions.
func (r *groupRun) watch(client *fake.Clientset) {
	client.PrependReactor("delete", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		deletion, isDeletion := action.(clienttesting.DeleteAction)
		if !isDeletion {
			return false, nil, nil
		}
		r.lock.Lock()
		defer r.lock.Unlock()
		object, isFound, err := r.cluster.pods().GetByKey(deletion.GetNamespace() + "/" + deletion.GetName())
		if err != nil || !isFound {
			return true, nil, fmt.Errorf("%s/%s is to be evicted, but does not exist", deletion.GetNamespace(), deletion.GetName())
		}
		pod := object.(*v1.Pod)
		r.evicted = append(r.evicted, pod)
		r.expect.Victims = append(r.expect.Victims, groupVictim{pod.Namespace + "/" + pod.Name, pod.Spec.NodeName, r.preemptor})
		return true, nil, nil
	})
	client.PrependReactor("patch", "podgroups", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patch, isPatch := action.(clienttesting.PatchAction)
		if !isPatch {
			return false, nil, nil
		}
		var written struct {
			Status struct {
				Conditions []groupCondition `json:"conditions"`
			} `json:"status"`
		}
		if err := json.Unmarshal(patch.GetPatch(), &written); err != nil {
			return true, nil, err
		}
		for _, condition := range written.Status.Conditions {
			r.expect.Condition = &condition
		}
		return true, nil, nil
	})
}

// group lets a group go through PreEnqueue, one cycle, and another one if room was made.
func (r *groupRun) group(name string) (*groupExpectation, error) {
	var tried []*v1.Pod
	var gated []*memberExpectation
	for _, pod := range r.members[name] {
		if words := r.gate(pod); words != nil {
			gated = append(gated, &memberExpectation{Pod: pod.Namespace + "/" + pod.Name, Result: "gated", PreEnqueue: words})
		} else {
			tried = append(tried, pod)
		}
	}
	if len(tried) == 0 {
		return &groupExpectation{Group: name, Result: "gated", Pods: gated}, nil
	}
	sort.SliceStable(tried, func(i, j int) bool { return *tried[i].Spec.Priority > *tried[j].Spec.Priority })
	expect, err := r.cycle(name, tried, gated)
	if err == nil && strings.HasPrefix(expect.Condition.Message, "cannot determine domain") && r.numRunning(name) > 1 {
		return nil, errors.New("which of the running members is named is left to chance")
	}
	if err == nil && r.hasEmptyDomain(name) && r.numRunning(name) > 1 {
		return nil, errors.New("which of the running members decides about the domain is left to chance")
	}
	if err == nil && expect.Result == "preempting" {
		expect.Retry, err = r.cycle(name, r.nominated(tried), gated)
	}
	for _, pod := range tried { // nobody stays nominated
		r.cluster.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(pod)
	}
	return expect, err
}

// numRunning is how many members of a group are on nodes.
func (r *groupRun) numRunning(name string) int {
	found := 0
	for _, object := range r.cluster.pods().List() {
		pod := object.(*v1.Pod)
		isMember := pod.Spec.SchedulingGroup != nil && pod.Namespace+"/"+*pod.Spec.SchedulingGroup.PodGroupName == name
		if isMember && pod.Spec.NodeName != "" {
			found++
		}
	}
	return found
}

// hasEmptyDomain tells if a member runs where the label that the group names has no value: that counts as no domain if
// the member comes first, and as another domain if it does not.
func (r *groupRun) hasEmptyDomain(name string) bool {
	namespace, groupName, _ := strings.Cut(name, "/")
	group, err := r.cluster.informers.Scheduling().V1alpha2().PodGroups().Lister().PodGroups(namespace).Get(groupName)
	if err != nil || group.Spec.SchedulingConstraints == nil || len(group.Spec.SchedulingConstraints.Topology) == 0 {
		return false
	}
	nodes := r.cluster.informers.Core().V1().Nodes().Lister()
	for _, object := range r.cluster.pods().List() {
		pod := object.(*v1.Pod)
		isMember := pod.Spec.SchedulingGroup != nil && pod.Namespace+"/"+*pod.Spec.SchedulingGroup.PodGroupName == name
		if node, err := nodes.Get(pod.Spec.NodeName); isMember && err == nil {
			if domain, isThere := node.Labels[group.Spec.SchedulingConstraints.Topology[0].Key]; isThere && domain == "" {
				return true
			}
		}
	}
	return false
}

func (r *groupRun) gate(pod *v1.Pod) *refusal {
	for _, plugin := range r.cluster.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(r.cluster.ctx, pod); !status.IsSuccess() {
			return refusalWords(status.WithPlugin(plugin.Name()))
		}
	}
	return nil
}

// nominated are the members as they are after the first cycle.
func (r *groupRun) nominated(pods []*v1.Pod) []*v1.Pod {
	var found []*v1.Pod
	for _, pod := range pods {
		if node := r.retryNodes[pod.UID]; node != "" {
			pod = pod.DeepCopy()
			pod.Status.NominatedNodeName = node
			if err := r.cluster.pods().Update(pod); err != nil {
				panic(err)
			}
			if info, err := framework.NewPodInfo(pod); err == nil {
				r.cluster.scheduler.SchedulingQueue.AddNominatedPod(logr.Discard(), info, nil)
			}
		}
		found = append(found, pod)
	}
	return found
}

// cycle runs kube-scheduler's cycle for the group, and lets what it decides become true.
func (r *groupRun) cycle(name string, pods []*v1.Pod, gated []*memberExpectation) (*groupExpectation, error) {
	r.expect = &groupExpectation{Group: name}
	r.waiting, r.bound = map[types.UID]*framework.QueuedPodInfo{}, map[types.UID]string{}
	r.failed, r.isWaiting, r.evicted = map[types.UID]*memberFailure{}, false, nil
	for index, pod := range pods {
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		first := started.Add(time.Duration(index) * time.Second)
		r.waiting[pod.UID] = &framework.QueuedPodInfo{PodInfo: info, InitialAttemptTimestamp: &first}
	}
	r.cluster.scheduler.NextPod = func(klog.Logger) (*framework.QueuedPodInfo, error) { return r.waiting[pods[0].UID], nil }
	r.cluster.scheduler.ScheduleOne(r.cluster.ctx)
	if err := r.settle(pods); err != nil {
		return nil, err
	}
	return r.tell(pods, gated)
}

// settle waits until every member is bound or has failed.
func (r *groupRun) settle(pods []*v1.Pod) error {
	late := time.AfterFunc(bindingLimit, r.changed.Broadcast)
	defer late.Stop()
	end := time.Now().Add(bindingLimit)
	r.lock.Lock()
	defer r.lock.Unlock()
	for len(r.bound)+len(r.failed) < len(pods) {
		if !time.Now().Before(end) {
			return errors.New("members are neither bound nor failed")
		}
		r.changed.Wait()
	}
	return nil
}

// tell puts it in the corpus' words, starts the pods that were bound and removes the victims.
func (r *groupRun) tell(pods []*v1.Pod, gated []*memberExpectation) (*groupExpectation, error) {
	expect := r.expect
	if expect.Condition == nil {
		return nil, errors.New("no condition was written")
	}
	switch {
	case expect.Condition.Status == metav1.ConditionTrue:
		expect.Result = "scheduled"
	case expect.Condition.Reason != "Unschedulable":
		expect.Result = "error"
	case r.isWaiting || isWaitingForPreemption(expect.Condition.Message):
		expect.Result = "preempting"
	default:
		expect.Result = "unschedulable"
	}
	r.retryNodes = map[types.UID]string{}
	for _, pod := range pods {
		words := &memberExpectation{Pod: pod.Namespace + "/" + pod.Name}
		expect.Pods = append(expect.Pods, words)
		if failure := r.failed[pod.UID]; failure != nil {
			words.Result, words.Code, words.Message = "failed", failureCode(failure.status), failure.status.Message()
			words.NominatedNode = failure.nominated
			r.retryNodes[pod.UID] = failure.nominated
			continue
		}
		words.Result, words.Node = "bound", r.bound[pod.UID]
		if err := r.start(pod, words.Node); err != nil {
			return nil, err
		}
	}
	expect.Pods = append(expect.Pods, gated...)
	sort.Slice(expect.Victims, func(i, j int) bool { return expect.Victims[i].key() < expect.Victims[j].key() })
	gone := map[types.UID]bool{}
	for _, victim := range r.evicted {
		if gone[victim.UID] {
			continue
		}
		gone[victim.UID] = true
		if err := r.cluster.remove(victim); err != nil {
			return nil, err
		}
	}
	return expect, nil
}

// start lets a bound pod run.
func (r *groupRun) start(pod *v1.Pod, node string) error {
	r.numBound++
	start := metav1.NewTime(started.Add(time.Duration(r.numBound) * time.Second))
	running := pod.DeepCopy()
	running.Spec.NodeName, running.Status.StartTime = node, &start
	if err := r.cluster.scheduler.Cache.AddPod(logr.Discard(), running); err != nil {
		return err
	}
	return r.cluster.pods().Update(running)
}

func failureCode(status *fwk.Status) string {
	if status.IsRejected() {
		return fwk.Unschedulable.String()
	}
	return fwk.Error.String()
}

// -- what the cycle tells ---------------------------------------------------------------------------------------------

func (r *groupRun) noteFailure(_ context.Context, _ framework.Framework, info *framework.QueuedPodInfo, status *fwk.Status, nominating *fwk.NominatingInfo, _ time.Time) {
	failure := &memberFailure{status: status}
	if nominating != nil && nominating.NominatingMode == fwk.ModeOverride {
		failure.nominated = nominating.NominatedNodeName
	}
	r.cluster.scheduler.SchedulingQueue.AddNominatedPod(logr.Discard(), info.PodInfo, nominating)
	r.lock.Lock()
	defer r.lock.Unlock()
	r.failed[info.Pod.UID] = failure
	r.changed.Broadcast()
}

func (r *groupRun) noteBound(pod *v1.Pod, node string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.bound[pod.UID] = node
	r.changed.Broadcast()
}

func (r *groupRun) setPreemptor(name string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.preemptor = name
}

func (r *groupRun) notePlacements(scored []fwk.PlacementPluginScores) {
	r.expect.Placements, r.expect.PlacementScores = map[string]int64{}, map[string]map[string]int64{}
	for _, placement := range scored {
		name := placement.Placement.Name
		r.expect.Placements[name] = placement.TotalScore
		r.expect.PlacementScores[name] = map[string]int64{}
		for _, plugin := range placement.Scores {
			r.expect.PlacementScores[name][plugin.Name] = plugin.Score
		}
	}
}
