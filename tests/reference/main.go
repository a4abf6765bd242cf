// Command reference drives the reference implementation of the runtime's side
// of NRI, package adaptation of github.com/containerd/nri, for the tests.
//
// It reads one JSON object a line from standard input and writes one a line to
// standard output: an answer to each command, which carries the command's id,
// and events, which have none. Protobuf messages travel in them as base64.
// What the library logs goes to standard error. The process ends at the end of
// its input.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	nrilog "github.com/containerd/nri/pkg/log"
)

// command is one line of input. Which fields count depends on Op.
type command struct {
	ID uint64 `json:"id"`
	Op string `json:"op"`

	// start
	Socket                string `json:"socket"`
	Name                  string `json:"name"`
	Version               string `json:"version"`
	RequestTimeoutMS      int64  `json:"request_timeout_ms"`
	RegistrationTimeoutMS int64  `json:"registration_timeout_ms"`

	// state: an encoded SynchronizeRequest
	State []byte `json:"state"`
	// fail-updates: containers whose unsolicited update is reported as failed
	Containers []string `json:"containers"`

	// call, bench: the method's name and its encoded request
	Method  string `json:"method"`
	Request []byte `json:"request"`

	// bench
	Calls   int   `json:"calls"`
	Warmup  int   `json:"warmup"`
	PauseUS int64 `json:"pause_us"`
}

// ops maps a command's op to what it does; the result becomes the answer's
// "ok".
func (r *runtime) ops() map[string]func(*command) (any, error) {
	return map[string]func(*command) (any, error){
		"start":        r.start,
		"state":        r.setState,
		"fail-updates": r.failUpdates,
		"hold-sync":    r.holdSync,
		"release-sync": r.releaseSync,
		"call":         r.call,
		"bench":        r.bench,
	}
}

func main() {
	out := newOutput(os.Stdout)
	nrilog.Set(&logger{out: out})
	if err := serve(os.Stdin, out, newRuntime(out)); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

// serve runs each command in a goroutine of its own, so that one which waits
// for a plugin does not keep the next from being read.
func serve(in io.Reader, out *output, r *runtime) error {
	ops := r.ops()
	lines := bufio.NewReaderSize(in, 1<<16)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a command: %w", err)
		}
		cmd := &command{}
		if err := json.Unmarshal(line, cmd); err != nil {
			return fmt.Errorf("malformed command: %w", err)
		}
		run, known := ops[cmd.Op]
		if !known {
			out.answer(cmd.ID, nil, fmt.Errorf("unknown op %q", cmd.Op))
			continue
		}
		go func() {
			result, err := run(cmd)
			out.answer(cmd.ID, result, err)
		}()
	}
}
