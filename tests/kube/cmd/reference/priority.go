// What the admission plugins Priority and DefaultTolerationSeconds write into pods.
package main

import (
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	scheduling "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulingapi "k8s.io/kubernetes/pkg/apis/scheduling"
)

// tolerationSeconds is how long a pod stays on a node that is not ready or not reachable, unless it says otherwise.
const tolerationSeconds int64 = 300

// priorities are the priority classes of a case, and the two that every cluster has.
type priorities struct {
	classes map[string]*scheduling.PriorityClass
	usual   *scheduling.PriorityClass // the least of those that are the default
}

func (a *admission) readClasses(objects []json.RawMessage) error {
	a.priorities.classes = map[string]*scheduling.PriorityClass{}
	for _, class := range []struct {
		name  string
		value int32
	}{
		{schedulingapi.SystemClusterCritical, schedulingapi.SystemCriticalPriority},
		{schedulingapi.SystemNodeCritical, schedulingapi.SystemCriticalPriority + 1000},
	} {
		found := &scheduling.PriorityClass{Value: class.value}
		found.Name = class.name
		a.priorities.classes[class.name] = found
	}
	for _, data := range objects {
		object, err := decodeObject(data)
		if err != nil {
			return err
		}
		class, isClass := object.(*scheduling.PriorityClass)
		if !isClass {
			continue
		}
		a.priorities.classes[class.Name] = class
		if class.GlobalDefault && (a.priorities.usual == nil || class.Value < a.priorities.usual.Value) {
			a.priorities.usual = class
		}
	}
	return nil
}

// resolve sets a pod's priority and preemption policy from its class.
func (p *priorities) resolve(pod *v1.Pod) error {
	var value int32
	policy := v1.PreemptLowerPriority
	class := p.usual
	if name := pod.Spec.PriorityClassName; name != "" {
		if class = p.classes[name]; class == nil {
			return field.Invalid(field.NewPath("spec", "priorityClassName"), name, fmt.Sprintf("no PriorityClass with name %v was found", name))
		}
	} else if class != nil {
		pod.Spec.PriorityClassName = class.Name
	}
	if class != nil {
		value = class.Value
		if class.PreemptionPolicy != nil {
			policy = *class.PreemptionPolicy
		}
	}
	if pod.Spec.Priority != nil && *pod.Spec.Priority != value {
		return field.Forbidden(field.NewPath("spec", "priority"), fmt.Sprintf("the class says %d", value))
	}
	if pod.Spec.PreemptionPolicy != nil && *pod.Spec.PreemptionPolicy != policy {
		return field.Forbidden(field.NewPath("spec", "preemptionPolicy"), fmt.Sprintf("the class says %s", policy))
	}
	pod.Spec.Priority, pod.Spec.PreemptionPolicy = &value, &policy
	return nil
}

// tolerate lets a pod stay for a while on nodes that are not ready or not reachable.
func tolerate(pod *v1.Pod) {
	for _, key := range []string{v1.TaintNodeNotReady, v1.TaintNodeUnreachable} {
		isTolerated := false
		for _, each := range pod.Spec.Tolerations {
			isTolerated = isTolerated ||
				(each.Key == key || each.Key == "") && (each.Effect == v1.TaintEffectNoExecute || each.Effect == "")
		}
		if !isTolerated {
			seconds := tolerationSeconds
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, v1.Toleration{
				Key: key, Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute, TolerationSeconds: &seconds})
		}
	}
}
