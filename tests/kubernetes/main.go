// Command kubernetes does with a kustomization what a client and an API server do with it before
// anything runs: builds it, reads each object strictly, fills in defaults, and validates the result.
// It prints the objects as a JSON list.
//
// Schema checkers only see unknown and misspelt fields, and fetch their schemas from the internet.
// The API server's own code also sees a mount of a volume that is not there, a selector that selects
// nothing, a probe without a handler; and its modules can be had where Go's can.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: kubernetes FOLDER")
		os.Exit(64)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder string) error {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		return err
	}
	var objects []any
	var mistakes []error
	for _, resource := range resources.Resources() {
		yaml, err := resource.AsYAML()
		if err != nil {
			return err
		}
		object, err := admit(yaml)
		if err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s: %w", resource.CurId(), err))
			continue
		}
		objects = append(objects, object)
	}
	if err := errors.Join(mistakes...); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"items": objects})
}
