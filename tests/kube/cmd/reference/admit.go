// What an API server does with objects before a scheduler sees them: defaults, admission, validation.
package main

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/policy/install"
	_ "k8s.io/kubernetes/pkg/apis/scheduling/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	"k8s.io/kubernetes/pkg/registry/apps/replicaset"
	"k8s.io/kubernetes/pkg/registry/apps/statefulset"
	"k8s.io/kubernetes/pkg/registry/core/namespace"
	"k8s.io/kubernetes/pkg/registry/core/node"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolume"
	"k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim"
	"k8s.io/kubernetes/pkg/registry/core/pod"
	"k8s.io/kubernetes/pkg/registry/core/replicationcontroller"
	"k8s.io/kubernetes/pkg/registry/core/service"
	"k8s.io/kubernetes/pkg/registry/policy/poddisruptionbudget"
	"k8s.io/kubernetes/pkg/registry/scheduling/podgroup"
	"k8s.io/kubernetes/pkg/registry/scheduling/priorityclass"
	"k8s.io/kubernetes/pkg/registry/storage/csidriver"
	"k8s.io/kubernetes/pkg/registry/storage/csinode"
	"k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity"
	"k8s.io/kubernetes/pkg/registry/storage/storageclass"
	"k8s.io/kubernetes/pkg/registry/storage/volumeattachment"
)

// strategies are those by which kube-apiserver takes in each kind: its own code.
var strategies = map[string]rest.RESTCreateStrategy{
	"CSIDriver":             csidriver.Strategy,
	"CSINode":               csinode.Strategy,
	"CSIStorageCapacity":    csistoragecapacity.Strategy,
	"Namespace":             namespace.Strategy,
	"Node":                  node.Strategy,
	"PersistentVolume":      persistentvolume.Strategy,
	"PersistentVolumeClaim": persistentvolumeclaim.Strategy,
	"Pod":                   pod.Strategy,
	"PodDisruptionBudget":   poddisruptionbudget.Strategy,
	"PodGroup":              podgroup.NewStrategy(),
	"PriorityClass":         priorityclass.Strategy,
	"ReplicaSet":            replicaset.Strategy,
	"ReplicationController": replicationcontroller.Strategy,
	"Service":               service.Strategy,
	"StatefulSet":           statefulset.Strategy,
	"StorageClass":          storageclass.Strategy,
	"VolumeAttachment":      volumeattachment.Strategy,
}

// admit makes every object of the case what an API server would hand out; an error says why one would be refused.
func (c *corpusCase) admit() error {
	door := &admission{seen: map[string]bool{}}
	if err := door.readClasses(c.Objects); err != nil {
		return err
	}
	for _, list := range [][]json.RawMessage{c.Objects, c.Pods} {
		for index, data := range list {
			admitted, err := door.admit(data)
			if err != nil {
				return err
			}
			list[index] = admitted
		}
	}
	return door.checkNamespaces()
}

// admission remembers what has to agree between objects.
type admission struct {
	priorities priorities
	seen       map[string]bool // "Kind namespace/name"
	namespaces []string        // that some object is in
}

func (a *admission) admit(data []byte) ([]byte, error) {
	versioned, kind, err := legacyscheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	legacyscheme.Scheme.Default(versioned)
	if pod, isPod := versioned.(*v1.Pod); isPod {
		if err := a.priorities.resolve(pod); err != nil {
			return nil, err
		}
		tolerate(pod)
	}
	strategy, isKnown := strategies[kind.Kind]
	if !isKnown {
		return nil, fmt.Errorf("%s: no scheduler reads such objects", kind.Kind)
	}
	before, err := asMap(versioned)
	if err != nil {
		return nil, err
	}
	after, err := created(strategy, versioned, kind)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(versioned)
	if err != nil {
		return nil, err
	}
	if err := a.note(kind.Kind, accessor.GetNamespace(), accessor.GetName()); err != nil {
		return nil, err
	}
	restore(before, after)
	return json.Marshal(after)
}

// created is the object after kube-apiserver's own handling of a create request.
func created(strategy rest.RESTCreateStrategy, versioned runtime.Object, kind *schema.GroupVersionKind) (map[string]any, error) {
	internal, err := legacyscheme.Scheme.ConvertToVersion(versioned, schema.GroupVersion{Group: kind.Group, Version: runtime.APIVersionInternal})
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(internal)
	if err != nil {
		return nil, err
	}
	rest.FillObjectMetaSystemFields(accessor)
	ctx := genericapirequest.WithNamespace(context.Background(), accessor.GetNamespace())
	ctx = genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: "create", APIGroup: kind.Group, APIVersion: kind.Version, Namespace: accessor.GetNamespace()})
	if err := rest.BeforeCreate(strategy, ctx, internal); err != nil {
		return nil, err
	}
	external, err := legacyscheme.Scheme.ConvertToVersion(internal, kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return asMap(external)
}

// restore gives back what others than the creator write: the status, and marks of a life before.
func restore(before, after map[string]any) {
	if status, hasStatus := before["status"]; hasStatus {
		after["status"] = status
	} else {
		delete(after, "status")
	}
	old, new := before["metadata"].(map[string]any), after["metadata"].(map[string]any)
	for _, field := range []string{"uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation"} {
		delete(new, field)
		if value, hasValue := old[field]; hasValue && value != nil {
			new[field] = value
		}
	}
}

func (a *admission) note(kind, namespace, name string) error {
	key := kind + " " + name
	if namespace != "" {
		key = kind + " " + namespace + "/" + name
		a.namespaces = append(a.namespaces, namespace)
	}
	if a.seen[key] {
		return fmt.Errorf("%s: exists twice", key)
	}
	a.seen[key] = true
	return nil
}

func (a *admission) checkNamespaces() error {
	for _, namespace := range a.namespaces {
		if namespace != v1.NamespaceDefault && !a.seen["Namespace "+namespace] {
			return fmt.Errorf("namespace %q not found", namespace)
		}
	}
	return nil
}

func asMap(object runtime.Object) (map[string]any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	var found map[string]any
	return found, json.Unmarshal(data, &found)
}
