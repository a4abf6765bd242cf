package main

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"google.golang.org/protobuf/proto"
)

// handler relays one encoded request to the plugins and returns the merged
// response with the time that the library took.
type handler func(ctx context.Context, request []byte) (proto.Message, time.Duration, error)

// pointer constrains M to be *T and a protobuf message.
type pointer[T any] interface {
	*T
	proto.Message
}

// relay makes a handler of a method that has a response.
func relay[T any, M pointer[T], R proto.Message](method func(context.Context, M) (R, error)) handler {
	return func(ctx context.Context, encoded []byte) (proto.Message, time.Duration, error) {
		request := M(new(T))
		if err := proto.Unmarshal(encoded, request); err != nil {
			return nil, 0, fmt.Errorf("request: %w", err)
		}
		begin := time.Now()
		response, err := method(ctx, request)
		return response, time.Since(begin), err
	}
}

// notify makes a handler of a method that has no response.
func notify[T any, M pointer[T]](method func(context.Context, M) error) handler {
	return relay[T, M](func(ctx context.Context, request M) (*api.Empty, error) {
		return &api.Empty{}, method(ctx, request)
	})
}

func handlers(a *adaptation.Adaptation) map[string]handler {
	return map[string]handler{
		"RunPodSandbox":        notify(a.RunPodSandbox),
		"UpdatePodSandbox":     relay(a.UpdatePodSandbox),
		"PostUpdatePodSandbox": notify(a.PostUpdatePodSandbox),
		"StopPodSandbox":       notify(a.StopPodSandbox),
		"RemovePodSandbox":     notify(a.RemovePodSandbox),
		"CreateContainer":      relay(a.CreateContainer),
		"PostCreateContainer":  notify(a.PostCreateContainer),
		"StartContainer":       notify(a.StartContainer),
		"PostStartContainer":   notify(a.PostStartContainer),
		"UpdateContainer":      relay(a.UpdateContainer),
		"PostUpdateContainer":  notify(a.PostUpdateContainer),
		"StopContainer":        relay(a.StopContainer),
		"RemoveContainer":      notify(a.RemoveContainer),
	}
}

// call relays one request to all plugins, as a runtime does.
func (r *runtime) call(cmd *command) (any, error) {
	a, err := r.started()
	if err != nil {
		return nil, err
	}
	run, known := handlers(a)[cmd.Method]
	if !known {
		return nil, fmt.Errorf("unknown method %q", cmd.Method)
	}
	response, took, err := run(context.Background(), cmd.Request)
	if err != nil {
		return nil, err
	}
	encoded, err := proto.Marshal(response)
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	return map[string]any{"response": encoded, "took_us": took.Microseconds()}, nil
}
