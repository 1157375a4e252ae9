// The corpus' format: what a case holds, and the words in which a decision is told.
package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	configscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/validation"
)

// corpusCase is one line of a corpus file.
type corpusCase struct {
	Name         string            `json:"name"`
	Focus        string            `json:"focus"`
	FeatureGates map[string]bool   `json:"featureGates,omitempty"` // a case with them is about groups of pods
	Config       json.RawMessage   `json:"config"`
	Objects      []json.RawMessage `json:"objects"`
	Pods         []json.RawMessage `json:"pods"`
	Expect       any               `json:"expect,omitempty"` // for each pod, or each group
}

// expectation is what became of a pod. Feasible holds names, or only their number in a case of focus replay.
type expectation struct {
	Pod                  string      `json:"pod"`
	Result               string      `json:"result"`
	PreEnqueue           *refusal    `json:"preEnqueue,omitempty"`
	PreFilter            *preFilter  `json:"preFilter,omitempty"`
	Feasible             any         `json:"feasible,omitempty"`
	Rejected             []*refusal  `json:"rejected,omitempty"`
	Scores               *scores     `json:"scores,omitempty"`
	Best                 []string    `json:"best,omitempty"`
	BestScore            *int64      `json:"bestScore,omitempty"`
	Ties                 int         `json:"ties,omitempty"`
	Via                  string      `json:"via,omitempty"`
	Node                 string      `json:"node,omitempty"`
	Volumes              *volumes    `json:"volumes,omitempty"`
	Message              string      `json:"message,omitempty"`
	Event                string      `json:"event,omitempty"`
	UnschedulablePlugins []string    `json:"unschedulablePlugins,omitempty"`
	Preemption           *preemption `json:"preemption,omitempty"`
	NominatedNode        string      `json:"nominatedNode,omitempty"`
	Victims              []string    `json:"victims,omitempty"`
	Error                string      `json:"error,omitempty"`
	ReserveStatus        *refusal    `json:"reserveStatus,omitempty"`
}

type refusal struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons,omitempty"`
	Nodes   []string `json:"nodes,omitempty"`
}

type preFilter struct {
	refusal
	Restricted bool     `json:"restricted,omitempty"`
	ByPlugins  []string `json:"byPlugins,omitempty"`
}

type scores struct {
	Plugins []string           `json:"plugins"`
	Nodes   map[string][]int64 `json:"nodes"`
}

type volumes struct {
	Static    map[string]string `json:"static,omitempty"`
	Provision []string          `json:"provision,omitempty"`
}

type preemption struct {
	Attempted          bool        `json:"attempted"`
	Code               string      `json:"code"`
	Message            string      `json:"message"`
	NominatedNode      string      `json:"nominatedNode,omitempty"`
	Victims            []string    `json:"victims,omitempty"`
	PDBViolations      int64       `json:"pdbViolations,omitempty"`
	Candidates         []candidate `json:"candidates,omitempty"`
	Ties               []string    `json:"ties,omitempty"`
	ClearedNominations []string    `json:"clearedNominations,omitempty"`
	Fits               bool        `json:"fits,omitempty"`
}

type candidate struct {
	Node          string   `json:"node"`
	Victims       []string `json:"victims"`
	PDBViolations int64    `json:"pdbViolations"`
}

func readCase(line []byte) (*corpusCase, error) {
	var given struct {
		corpusCase
		Expect json.RawMessage `json:"expect"` // what is there already is made anew
	}
	if err := json.Unmarshal(line, &given); err != nil {
		return nil, fmt.Errorf("not a case: %w", err)
	}
	return &given.corpusCase, nil
}

// objects are those of the cluster as it is given.
func (c *corpusCase) objects() ([]runtime.Object, error) {
	decoded := make([]runtime.Object, 0, len(c.Objects))
	for _, data := range c.Objects {
		object, err := decodeObject(data)
		if err != nil {
			return nil, err
		}
		decoded = append(decoded, object)
	}
	return decoded, nil
}

// pods are the ones that come, in order.
func (c *corpusCase) pods() ([]*v1.Pod, error) {
	decoded := make([]*v1.Pod, 0, len(c.Pods))
	for _, data := range c.Pods {
		object, err := decodeObject(data)
		if err != nil {
			return nil, err
		}
		pod, isPod := object.(*v1.Pod)
		if !isPod {
			return nil, fmt.Errorf("%T is among the pods", object)
		}
		decoded = append(decoded, pod)
	}
	return decoded, nil
}

// profile is the one that the case configures, with kube-scheduler's defaults filled in.
func (c *corpusCase) profile() (config.KubeSchedulerProfile, error) {
	if len(c.Config) == 0 || string(c.Config) == "null" {
		defaults, err := latest.Default()
		if err != nil {
			return config.KubeSchedulerProfile{}, err
		}
		return defaults.Profiles[0], nil
	}
	object, err := runtime.Decode(configscheme.Codecs.UniversalDecoder(), c.Config)
	if err != nil {
		return config.KubeSchedulerProfile{}, err
	}
	configuration, isConfiguration := object.(*config.KubeSchedulerConfiguration)
	if !isConfiguration || len(configuration.Profiles) != 1 {
		return config.KubeSchedulerProfile{}, fmt.Errorf("config is %T; a configuration with one profile is wanted", object)
	}
	if problems := validation.ValidateKubeSchedulerConfiguration(configuration); problems != nil {
		return config.KubeSchedulerProfile{}, problems
	}
	return configuration.Profiles[0], nil
}

func decodeObject(data []byte) (runtime.Object, error) {
	return runtime.Decode(scheme.Codecs.UniversalDeserializer(), data)
}
