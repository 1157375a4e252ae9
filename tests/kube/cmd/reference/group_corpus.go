// The corpus' format for cases with groups of pods, and the feature gates that they are decided with.
package main

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// groupGates are the gates that a case may open. They are closed otherwise.
var groupGates = []string{"GenericWorkload", "GangScheduling", "TopologyAwareWorkloadScheduling", "WorkloadAwarePreemption"}

// gatesLock keeps cases apart that are decided with different gates, which a process has but once.
var gatesLock sync.RWMutex

// groupExpectation is what became of a group.
type groupExpectation struct {
	Group           string                      `json:"group"`
	Result          string                      `json:"result"`
	Condition       *groupCondition             `json:"condition,omitempty"`
	Pods            []*memberExpectation        `json:"pods"`
	Placements      map[string]int64            `json:"placements,omitempty"`
	PlacementScores map[string]map[string]int64 `json:"placementScores,omitempty"`
	Victims         []groupVictim               `json:"victims,omitempty"`
	Retry           *groupExpectation           `json:"retry,omitempty"`
}

type groupCondition struct {
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message"`
}

type memberExpectation struct {
	Pod           string   `json:"pod"`
	Result        string   `json:"result"`
	Node          string   `json:"node,omitempty"`
	Code          string   `json:"code,omitempty"`
	Message       string   `json:"message,omitempty"`
	NominatedNode string   `json:"nominatedNode,omitempty"`
	PreEnqueue    *refusal `json:"preEnqueue,omitempty"`
}

type groupVictim struct {
	Pod  string `json:"pod"`
	Node string `json:"node"`
	For  string `json:"for"`
}

func (v groupVictim) key() string { return v.Pod + " " + v.Node + " " + v.For }

// withGates does something while the gates of the case are open. Cases without any may share the process.
func (c *corpusCase) withGates(do func() error) error {
	if c.FeatureGates == nil {
		gatesLock.RLock()
		defer gatesLock.RUnlock()
		return do()
	}
	gatesLock.Lock()
	defer gatesLock.Unlock()
	closed, open := map[string]bool{}, map[string]bool{}
	for _, name := range groupGates {
		closed[name], open[name] = false, false
	}
	for name, isOpen := range c.FeatureGates {
		closed[name], open[name] = false, isOpen
	}
	defer func() {
		if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(closed); err != nil {
			panic(err)
		}
	}()
	if err := utilfeature.DefaultMutableFeatureGate.SetFromMap(open); err != nil {
		return err
	}
	return do()
}

// told decides a case, as pods or as groups.
func (c *corpusCase) told() (any, error) {
	if c.FeatureGates == nil {
		return c.decide()
	}
	return c.decideGroups()
}
