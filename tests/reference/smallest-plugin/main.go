// Command smallest-plugin is the least that a plugin on the reference stub can
// be. The bench compares with it.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
)

type plugin struct{}

func (plugin) CreateContainer(context.Context, *api.PodSandbox, *api.Container) (*api.ContainerAdjustment, []*api.ContainerUpdate, error) {
	return nil, nil, nil
}

// Synchronize is here because the other plugins of the bench are synchronized
// too.
func (plugin) Synchronize(context.Context, []*api.PodSandbox, []*api.Container) ([]*api.ContainerUpdate, error) {
	return nil, nil
}

func run(socket, index, name string) error {
	s, err := stub.New(plugin{}, stub.WithSocketPath(socket), stub.WithPluginIdx(index), stub.WithPluginName(name))
	if err != nil {
		return err
	}
	return s.Run(context.Background())
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: smallest-plugin SOCKET INDEX NAME")
		os.Exit(64)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "smallest-plugin:", err)
		os.Exit(1)
	}
}
