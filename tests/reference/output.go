package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// output writes answers and events, one a line.
type output struct {
	mu      sync.Mutex
	encoder *json.Encoder
	started time.Time
}

func newOutput(w io.Writer) *output {
	return &output{encoder: json.NewEncoder(w), started: time.Now()}
}

// sinceStart is the time in microseconds that answers and events are stamped
// with.
func (o *output) sinceStart() int64 {
	return time.Since(o.started).Microseconds()
}

func (o *output) answer(id uint64, result any, err error) {
	line := map[string]any{"id": id}
	if err != nil {
		line["error"] = err.Error()
	} else {
		line["ok"] = result
	}
	o.write(line)
}

func (o *output) event(name string, fields map[string]any) {
	fields["event"] = name
	fields["at_us"] = o.sinceStart()
	o.write(fields)
}

func (o *output) write(line any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.encoder.Encode(line); err != nil {
		fmt.Fprintln(os.Stderr, "reference: writing:", err)
		os.Exit(1)
	}
}

// Lines of the library's log that tell what it offers no other way to learn.
// The version in go.mod is pinned, so they do not change unseen: without them
// the tests would wait in vain and fail.
var events = map[string]string{
	"synchronizing plugin %s":              "synchronizing",
	"plugin %q connected and synchronized": "connected",
	"connection to plugin %q closed":       "closed",
	"failed to start external plugin: %v":  "refused",
	"failed to synchronize plugin: %v":     "refused",
}

// logger writes the library's log to standard error and makes events of some
// of its lines.
type logger struct{ out *output }

func (l *logger) line(level, format string, args []any) {
	fmt.Fprintf(os.Stderr, "%10d %-5s %s\n", l.out.sinceStart(), level, fmt.Sprintf(format, args...))
	if name, known := events[format]; known && len(args) == 1 {
		l.out.event(name, map[string]any{"text": fmt.Sprint(args[0])})
	}
}

func (l *logger) Debugf(_ context.Context, format string, args ...any) {
	l.line("debug", format, args)
}

func (l *logger) Infof(_ context.Context, format string, args ...any) {
	l.line("info", format, args)
}

func (l *logger) Warnf(_ context.Context, format string, args ...any) {
	l.line("warn", format, args)
}

func (l *logger) Errorf(_ context.Context, format string, args ...any) {
	l.line("error", format, args)
}
