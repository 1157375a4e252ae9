// How fast kube-scheduler decides, on a case: its own SchedulePod, and its cache told of each decision.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// timing is what `bench` prints.
type timing struct {
	Pods          int     `json:"pods"`
	Scheduled     int     `json:"scheduled"`
	Failed        int     `json:"failed"`
	Seconds       float64 `json:"seconds"`
	PodsPerSecond float64 `json:"podsPerSecond"`
	EvaluatedMean float64 `json:"evaluatedMean"` // nodes looked at for a pod
}

// bench times the loop from the queue's head to the assumed pod: no API call, no event, no binding, no post-filter.
// Making the cluster and filling the queue (which is where pods are signed for batching) are not counted.
func bench(input io.Reader, output io.Writer, percentage int32) error {
	line, err := bufio.NewReaderSize(input, 1<<20).ReadBytes('\n')
	if err != nil && err != io.EOF {
		return err
	}
	given, err := readCase(line)
	if err != nil {
		return err
	}
	pods, err := given.pods()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c, err := newCluster(ctx, given, percentage, nil)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		c.scheduler.SchedulingQueue.Add(c.ctx, pod)
	}
	found := timing{Pods: len(pods)}
	begun := time.Now()
	for range pods {
		evaluated, err := c.next()
		if err != nil {
			return err
		}
		if evaluated > 0 {
			found.Scheduled++
			found.EvaluatedMean += float64(evaluated)
		}
	}
	found.Seconds = time.Since(begun).Seconds()
	found.Failed = found.Pods - found.Scheduled
	found.PodsPerSecond = float64(found.Pods) / found.Seconds
	if found.Scheduled > 0 {
		found.EvaluatedMean /= float64(found.Scheduled)
	}
	return json.NewEncoder(output).Encode(found)
}

// next decides the pod at the head of the queue; the number of nodes looked at, 0 if none fits.
func (c *cluster) next() (int, error) {
	info, err := c.scheduler.SchedulingQueue.Pop(logr.Discard())
	if err != nil {
		return 0, err
	}
	defer c.scheduler.SchedulingQueue.Done(info.Pod.UID)
	if err := c.scheduler.Cache.UpdateSnapshot(logr.Discard(), c.snapshot); err != nil {
		return 0, err
	}
	state := framework.NewCycleState()
	state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	result, err := c.scheduler.SchedulePod(c.ctx, c.framework, state, info)
	var unfit *framework.FitError
	if errors.As(err, &unfit) || errors.Is(err, scheduler.ErrNoNodesAvailable) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	assumed := info.DeepCopy()
	assumed.Pod.Spec.NodeName = result.SuggestedHost
	if err := c.scheduler.Cache.AssumePod(logr.Discard(), assumed.Pod); err != nil {
		return 0, err
	}
	c.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(assumed.Pod)
	return result.EvaluatedNodes, nil
}
