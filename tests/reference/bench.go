package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// bench repeats one call, with a pause before each, and tells how long the
// library took. Every call decodes the request anew, outside the time taken,
// since the library changes it in place.
func (r *runtime) bench(cmd *command) (any, error) {
	a, err := r.started()
	if err != nil {
		return nil, err
	}
	run, known := handlers(a)[cmd.Method]
	if !known {
		return nil, fmt.Errorf("unknown method %q", cmd.Method)
	}
	if cmd.Calls < 1 || cmd.Warmup < 0 {
		return nil, errors.New("calls must be at least 1, warmup at least 0")
	}
	taken := make([]time.Duration, 0, cmd.Calls)
	for i := range cmd.Warmup + cmd.Calls {
		time.Sleep(time.Duration(cmd.PauseUS) * time.Microsecond)
		_, took, err := run(context.Background(), cmd.Request)
		if err != nil {
			return nil, fmt.Errorf("call %d: %w", i, err)
		}
		if i >= cmd.Warmup {
			taken = append(taken, took)
		}
	}
	slices.Sort(taken)
	return map[string]any{
		"p50_ns": percentile(taken, 50).Nanoseconds(),
		"p90_ns": percentile(taken, 90).Nanoseconds(),
		"p99_ns": percentile(taken, 99).Nanoseconds(),
	}, nil
}

// percentile takes sorted, non-empty durations.
func percentile(sorted []time.Duration, p int) time.Duration {
	return sorted[(len(sorted)-1)*p/100]
}
