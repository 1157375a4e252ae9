// A scheduler, not running, that knows a case's cluster.
package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"

	policy "k8s.io/api/policy/v1"
)

// cluster is kube-scheduler with its cache, its queue and its plugins, and with informers that have seen the objects of
// a case. Nothing in it runs by itself: pods are tried when they are handed in, and what it writes to the API is caught.
type cluster struct {
	ctx        context.Context
	scheduler  *scheduler.Scheduler
	framework  framework.Framework
	snapshot   *internalcache.Snapshot
	informers  informers.SharedInformerFactory
	preemption *defaultpreemption.DefaultPreemption // nil when the profile has none
	written    *volumes                             // what was last written to volumes and claims
}

// newCluster makes one; others than those who follow the case's own objects may be in it, and others watch its writes.
func newCluster(ctx context.Context, given *corpusCase, percentage int32, watch func(*fake.Clientset), more ...runtime.Object) (*cluster, error) {
	profile, err := given.profile()
	if err != nil {
		return nil, err
	}
	objects, err := given.objects()
	if err != nil {
		return nil, err
	}
	c := &cluster{ctx: klog.NewContext(ctx, logr.Discard()), written: &volumes{}}
	//lint:ignore SA1019 the newer constructor tracks field ownership, which nobody here asks for
	client := fake.NewSimpleClientset(append(objects, more...)...)
	c.catchWrites(client)
	if watch != nil {
		watch(client)
	}
	c.informers = scheduler.NewInformerFactory(client, 0)
	recorder := func(string) events.EventRecorderLogger { return &events.FakeRecorder{} }
	c.scheduler, err = scheduler.New(c.ctx, client, c.informers, nil, recorder,
		scheduler.WithProfiles(profile), scheduler.WithPercentageOfNodesToScore(&percentage))
	if err != nil {
		return nil, err
	}
	c.framework = c.scheduler.Profiles[profile.SchedulerName]
	snapshot, isSnapshot := c.framework.SnapshotSharedLister().(*internalcache.Snapshot)
	if !isSnapshot {
		return nil, errors.New("the framework reads from something else than a snapshot")
	}
	c.snapshot = snapshot
	if err := c.addPreemption(profile); err != nil {
		return nil, err
	}
	c.informers.Start(c.ctx.Done())
	c.informers.WaitForCacheSync(c.ctx.Done())
	if err := c.scheduler.WaitForHandlersSync(c.ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// catchWrites lets every write succeed without changing anything, and keeps what is written to volumes and claims.
func (c *cluster) catchWrites(client *fake.Clientset) {
	catch := func(action clienttesting.Action) (bool, runtime.Object, error) {
		update, isUpdate := action.(clienttesting.UpdateAction)
		if !isUpdate {
			return true, &v1.Pod{}, nil
		}
		switch object := update.GetObject().(type) {
		case *v1.PersistentVolume:
			if c.written.Static == nil {
				c.written.Static = map[string]string{}
			}
			c.written.Static[object.Spec.ClaimRef.Namespace+"/"+object.Spec.ClaimRef.Name] = object.Name
		case *v1.PersistentVolumeClaim:
			c.written.Provision = append(c.written.Provision, object.Namespace+"/"+object.Name)
		}
		return true, update.GetObject(), nil
	}
	for _, verb := range []string{"create", "update", "patch", "delete"} {
		client.PrependReactor(verb, "*", catch)
	}
}

// addPreemption makes a second DefaultPreemption, like the profile's own, which can be asked for all candidates.
func (c *cluster) addPreemption(profile config.KubeSchedulerProfile) error {
	isConfigured := false
	for _, plugin := range c.framework.ListPlugins().PostFilter.Enabled {
		isConfigured = isConfigured || plugin.Name == names.DefaultPreemption
	}
	if !isConfigured {
		return nil
	}
	for _, each := range profile.PluginConfig {
		if each.Name == names.DefaultPreemption {
			gates := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
			plugin, err := defaultpreemption.New(c.ctx, each.Args, c.framework, gates)
			c.preemption = plugin
			return err
		}
	}
	return fmt.Errorf("%s has no arguments", names.DefaultPreemption)
}

// pods is the store that listers of pods read from.
func (c *cluster) pods() cache.Indexer {
	return c.informers.Core().V1().Pods().Informer().GetIndexer()
}

func (c *cluster) budgets() ([]*policy.PodDisruptionBudget, error) {
	return c.informers.Policy().V1().PodDisruptionBudgets().Lister().List(labels.Everything())
}

// remove takes a pod off its node.
func (c *cluster) remove(pod *v1.Pod) error {
	if err := c.scheduler.Cache.RemovePod(logr.Discard(), pod); err != nil {
		return err
	}
	return c.pods().Delete(pod)
}
