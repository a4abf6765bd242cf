package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"google.golang.org/protobuf/proto"
)

var errNotStarted = errors.New("the runtime is not started")

// runtime is a container runtime that has nothing but its NRI side.
type runtime struct {
	out *output

	// mu guards what follows. It is never held while the library may call
	// back: starting it synchronizes at once.
	mu         sync.Mutex
	adaptation *adaptation.Adaptation
	state      *api.SynchronizeRequest
	failing    []string
	holds      []*adaptation.PluginSyncBlock
}

func newRuntime(out *output) *runtime {
	return &runtime{out: out, state: &api.SynchronizeRequest{}}
}

// started returns the library's object once start has made it.
func (r *runtime) started() (*adaptation.Adaptation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.adaptation == nil {
		return nil, errNotStarted
	}
	return r.adaptation, nil
}

// start listens on the socket; the answer tells since when. Only the end of the
// process stops it: the library leaves the connections of plugins open.
func (r *runtime) start(cmd *command) (any, error) {
	adaptation.SetPluginRequestTimeout(milliseconds(cmd.RequestTimeoutMS, api.DefaultPluginRequestTimeout))
	adaptation.SetPluginRegistrationTimeout(milliseconds(cmd.RegistrationTimeoutMS, api.DefaultPluginRegistrationTimeout))
	// Plugins only connect; there is no such folder.
	nothing := cmd.Socket + ".plugins"
	a, err := adaptation.New(cmd.Name, cmd.Version, r.synchronize, r.updateContainers,
		adaptation.WithSocketPath(cmd.Socket),
		adaptation.WithPluginPath(nothing),
		adaptation.WithPluginConfigPath(nothing),
	)
	if err != nil {
		return nil, err
	}
	if err := r.adopt(a); err != nil {
		return nil, err
	}
	if err := a.Start(); err != nil {
		return nil, err
	}
	return map[string]any{"listening_us": r.out.sinceStart()}, nil
}

// adopt makes a the object that later commands use.
func (r *runtime) adopt(a *adaptation.Adaptation) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.adaptation != nil {
		return errors.New("the runtime is started already")
	}
	r.adaptation = a
	return nil
}

func (r *runtime) setState(cmd *command) (any, error) {
	state := &api.SynchronizeRequest{}
	if err := proto.Unmarshal(cmd.State, state); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.state = state
	return map[string]any{"pods": len(state.Pods), "containers": len(state.Containers)}, nil
}

func (r *runtime) failUpdates(cmd *command) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failing = cmd.Containers
	return struct{}{}, nil
}

// holdSync keeps plugins that connect from being synchronized, as a runtime
// does while it serves requests of its own.
func (r *runtime) holdSync(*command) (any, error) {
	a, err := r.started()
	if err != nil {
		return nil, err
	}
	// This waits for a synchronization under way.
	hold := a.BlockPluginSync()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = append(r.holds, hold)
	return struct{}{}, nil
}

// releaseSync ends what all holdSync before it began.
func (r *runtime) releaseSync(*command) (any, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, hold := range r.holds {
		hold.Unblock()
	}
	r.holds = nil
	return struct{}{}, nil
}

// synchronize hands the state to a plugin that has connected.
func (r *runtime) synchronize(ctx context.Context, plugin adaptation.SyncCB) error {
	r.mu.Lock()
	state := r.state
	r.mu.Unlock()
	updates, err := plugin(ctx, state.Pods, state.Containers)
	if err != nil {
		return err
	}
	if len(updates) > 0 {
		r.reportUpdates("sync-updates", updates)
	}
	return nil
}

// updateContainers serves a plugin's unsolicited updates.
func (r *runtime) updateContainers(_ context.Context, updates []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) {
	r.reportUpdates("updates", updates)
	r.mu.Lock()
	defer r.mu.Unlock()
	var failed []*api.ContainerUpdate
	for _, u := range updates {
		if slices.Contains(r.failing, u.ContainerId) {
			failed = append(failed, u)
		}
	}
	return failed, nil
}

func (r *runtime) reportUpdates(event string, updates []*api.ContainerUpdate) {
	encoded, err := proto.Marshal(&api.UpdateContainersRequest{Update: updates})
	if err != nil {
		r.out.event("refused", map[string]any{"text": err.Error()})
		return
	}
	r.out.event(event, map[string]any{"message": encoded})
}

func milliseconds(ms int64, or time.Duration) time.Duration {
	if ms == 0 {
		return or
	}
	return time.Duration(ms) * time.Millisecond
}
