// A framework in which nothing is left to chance: what kube-scheduler draws by lot is taken by name.
package main

import (
	"context"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/api/scheduling/v1alpha2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// orderedFramework is a profile's own framework. Of equally good nodes, and sets of nodes, the first by name stands out;
// pods are not bound but noted; and it is noted for whom room is made.
type orderedFramework struct {
	framework.Framework
	groups *groupRun
}

func (f *orderedFramework) RunScorePlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodes []fwk.NodeInfo) ([]fwk.NodePluginScores, *fwk.Status) {
	scored, status := f.Framework.RunScorePlugins(ctx, state, pod, nodes)
	sort.Slice(scored, func(i, j int) bool { return scored[i].Name < scored[j].Name })
	best := 0
	for index := range scored {
		if scored[index].TotalScore > scored[best].TotalScore {
			best = index
		}
	}
	if len(scored) > 0 {
		scored[best].TotalScore++ // nobody looks at it but whoever takes the highest
	}
	return scored, status
}

func (f *orderedFramework) RunPlacementGeneratePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, nodes []fwk.NodeInfo) ([]*fwk.Placement, *fwk.Status) {
	placements, status := f.Framework.RunPlacementGeneratePlugins(ctx, state, group, nodes)
	sort.Slice(placements, func(i, j int) bool { return placements[i].Name < placements[j].Name })
	return placements, status
}

func (f *orderedFramework) RunPlacementScorePlugins(ctx context.Context, state fwk.PodGroupCycleState, group fwk.PodGroupInfo, placements []*fwk.PodGroupAssignments) ([]fwk.PlacementPluginScores, *fwk.Status) {
	scored, status := f.Framework.RunPlacementScorePlugins(ctx, state, group, placements)
	sort.Slice(scored, func(i, j int) bool { return scored[i].Placement.Name < scored[j].Placement.Name })
	f.groups.notePlacements(scored)
	best := 0
	for index := range scored {
		if scored[index].TotalScore > scored[best].TotalScore {
			best = index
		}
	}
	if len(scored) > 0 {
		scored[best].TotalScore++
	}
	return scored, status
}

func (f *orderedFramework) RunPostFilterPlugins(ctx context.Context, state fwk.CycleState, pod *v1.Pod, statuses fwk.NodeToStatusReader) (*fwk.PostFilterResult, *fwk.Status) {
	if !f.groups.isForGroup { // else the group is tried without some pods, and nobody else makes room
		f.groups.setPreemptor(pod.Namespace + "/" + pod.Name)
	}
	return f.Framework.RunPostFilterPlugins(ctx, state, pod, statuses)
}

func (f *orderedFramework) PodGroupPostFilterPlugins() []framework.PodGroupPostFilterPlugin {
	var found []framework.PodGroupPostFilterPlugin
	for _, plugin := range f.Framework.PodGroupPostFilterPlugins() {
		found = append(found, &notedGroupPostFilter{plugin, f.groups})
	}
	return found
}

// RunPreBindPlugins does nothing: nobody completes the bindings of volumes here.
func (f *orderedFramework) RunPreBindPlugins(context.Context, fwk.CycleState, *v1.Pod, string) *fwk.Status {
	return nil
}

func (f *orderedFramework) RunBindPlugins(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	f.groups.noteBound(pod, node)
	return nil
}

// notedGroupPostFilter remembers whether room was made for a group.
type notedGroupPostFilter struct {
	framework.PodGroupPostFilterPlugin
	groups *groupRun
}

func (p *notedGroupPostFilter) PodGroupPostFilter(ctx context.Context, group *v1alpha2.PodGroup, pods []*v1.Pod, try func(context.Context) *fwk.Status) *fwk.Status {
	p.groups.setPreemptor(group.Namespace + "/" + group.Name)
	p.groups.isForGroup = true
	defer func() { p.groups.isForGroup = false }()
	status := p.PodGroupPostFilterPlugin.PodGroupPostFilter(ctx, group, pods, try)
	if status.IsSuccess() {
		p.groups.isWaiting = true
	}
	return status
}

// isWaitingForPreemption is how the cycle says that members' own preemptions have to end first.
func isWaitingForPreemption(message string) bool {
	return strings.Contains(message, "pod group is waiting for preemption to complete")
}
