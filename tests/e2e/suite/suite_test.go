// Package suite is upstream's end-to-end suite, cut down to the directories whose specs a scheduler has a say in.
//
// Upstream's flags apply, and one of our own: -results names a file that gets a line of JSON with the number of specs
// that will run, and then one for each of them as soon as it has ended, so that a run which is broken off still tells
// what it found. Compiled by build.py, run by run.py.
package suite

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"

	"k8s.io/kubernetes/test/e2e"
	"k8s.io/kubernetes/test/e2e/framework"
	"k8s.io/kubernetes/test/e2e/framework/config"
	"k8s.io/kubernetes/test/e2e/framework/testfiles"
	manifests "k8s.io/kubernetes/test/e2e/testing-manifests"

	// The names of features come before the specs that are labelled with them.
	_ "k8s.io/kubernetes/test/e2e/feature"

	_ "k8s.io/kubernetes/test/e2e/apps"
	_ "k8s.io/kubernetes/test/e2e/node"
	_ "k8s.io/kubernetes/test/e2e/scheduling"

	// A spec waits until all nodes are ready, and one that fails tells what the cluster looked like.
	_ "k8s.io/kubernetes/test/e2e/framework/debug/init"
	_ "k8s.io/kubernetes/test/e2e/framework/node/init"
)

var results = flag.String("results", "", "file that gets a line of JSON for each spec that has ended")

// plan is the first line of the results.
type plan struct {
	Specs int `json:"specs"`
}

// result is each of the others.
type result struct {
	Name    string  `json:"name"`
	File    string  `json:"file"`
	State   string  `json:"state"`
	Seconds float64 `json:"seconds"`
	Message string  `json:"message,omitempty"`
}

func TestMain(m *testing.M) {
	config.CopyFlags(config.Flags, flag.CommandLine)
	framework.RegisterCommonFlags(flag.CommandLine)
	framework.RegisterClusterFlags(flag.CommandLine)
	flag.Parse()
	testfiles.AddFileSource(manifests.GetE2ETestingManifestsFS())
	framework.AfterReadingAllFlags(&framework.TestContext)
	report()
	os.Exit(m.Run())
}

func TestSpecs(t *testing.T) {
	e2e.RunE2ETests(t)
}

// report asks to be told of results. Once all flags are read, upstream's framework goes through the specs without running
// them, and each of them "passes": it has to be asked after that.
func report() {
	ginkgo.ReportBeforeSuite(func(report ginkgo.Report) {
		write(plan{Specs: report.PreRunStats.SpecsThatWillRun})
	})
	ginkgo.ReportAfterEach(func(report ginkgo.SpecReport) {
		if report.State == types.SpecStateSkipped && report.Failure.Message == "" {
			return // not chosen at all
		}
		write(result{
			Name:    report.FullText(),
			File:    report.FileName(),
			State:   report.State.String(),
			Seconds: report.RunTime.Seconds(),
			Message: report.Failure.Message,
		})
	})
}

func write(line any) {
	if *results == "" {
		return
	}
	file, err := os.OpenFile(*results, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = json.NewEncoder(file).Encode(line)
		file.Close()
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "the result cannot be written: %v\n", err)
		os.Exit(1)
	}
}
