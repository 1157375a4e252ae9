// Reference asks kube-scheduler's own packages what they make of cases of the corpus.
//
//	reference label < cases.jsonl > labelled.jsonl
//	reference admit < cases.jsonl > labelled.jsonl
//	reference bench [-percentage 100] < case.jsonl
//
// A case is a cluster and pods that come; the format is described in tests/conformance/README.md. `label` writes each
// case again with what kube-scheduler decides for every pod. `admit` does what an API server does with the objects
// first, and writes only the reason of a case that it would not take; it answers each line before the next one comes.
// `bench` times kube-scheduler's decision loop on the first case.
// Both read and write JSON lines; tests/kube/reference.py runs this program.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(arguments []string, input io.Reader, output io.Writer) error {
	if len(arguments) == 0 {
		return fmt.Errorf("say what to do: label, admit or bench")
	}
	if err := quieten(); err != nil {
		return err
	}
	flags := flag.NewFlagSet(arguments[0], flag.ContinueOnError)
	percentage := flags.Int("percentage", 100, "bench: percentageOfNodesToScore; 0 is kube-scheduler's own default")
	jobs := flags.Int("jobs", runtime.NumCPU(), "label: cases at a time")
	if err := flags.Parse(arguments[1:]); err != nil {
		return err
	}
	switch arguments[0] {
	case "label":
		return labelAll(input, output, *jobs, label)
	case "admit":
		return labelAll(input, output, *jobs, admitAndLabel)
	case "bench":
		return bench(input, output, int32(*percentage))
	default:
		return fmt.Errorf("%q: say label, admit or bench", arguments[0])
	}
}

// quieten drops kube-scheduler's logs, and makes evictions happen before PostFilter returns instead of beside it, so
// that a run is the same every time. What is decided does not depend on it.
func quieten() error {
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	return utilfeature.DefaultMutableFeatureGate.Set("SchedulerAsyncPreemption=false")
}

// labelAll labels several cases at a time and writes them in the order in which they came.
func labelAll(input io.Reader, output io.Writer, jobs int, label func([]byte) ([]byte, error)) error {
	type labelled struct {
		line []byte
		err  error
	}
	waiting := make(chan chan labelled, max(jobs, 1))
	var readError error
	go func() {
		defer close(waiting)
		readError = eachLine(input, func(line []byte) {
			answer := make(chan labelled, 1)
			waiting <- answer
			go func() {
				result, err := label(line)
				answer <- labelled{result, err}
			}()
		})
	}()
	writer := bufio.NewWriter(output)
	for answer := range waiting {
		result := <-answer
		if result.err != nil {
			return result.err
		}
		if _, err := writer.Write(append(result.line, '\n')); err != nil {
			return err
		}
		if len(waiting) == 0 { // whoever asks may wait for this answer
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
	if readError != nil {
		return readError
	}
	return writer.Flush()
}

func label(line []byte) ([]byte, error) {
	given, err := readCase(line)
	if err != nil {
		return nil, err
	}
	err = given.withGates(func() (err error) {
		given.Expect, err = given.told()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", given.Name, err)
	}
	return json.Marshal(given)
}

// refusedCase says why a case does not count.
type refusedCase struct {
	Name    string `json:"name"`
	Refused string `json:"refused"`
}

func admitAndLabel(line []byte) (answer []byte, err error) {
	given, err := readCase(line)
	if err != nil {
		return nil, err
	}
	defer func() { // a case on which kube-scheduler itself breaks is no example to follow
		if broken := recover(); broken != nil {
			answer, err = json.Marshal(refusedCase{given.Name, fmt.Sprintf("panic: %v", broken)})
		}
	}()
	err = given.withGates(func() (err error) {
		if err = given.admit(); err == nil {
			given.Expect, err = given.told()
		}
		return err
	})
	if err != nil {
		return json.Marshal(refusedCase{given.Name, err.Error()}) // as a configuration that makes no scheduler
	}
	return json.Marshal(given)
}

func eachLine(input io.Reader, do func(line []byte)) error {
	reader := bufio.NewReaderSize(input, 1<<20)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			do(line)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
