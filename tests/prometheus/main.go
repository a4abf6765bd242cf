// Command prometheus reads what nri-host gives to Prometheus with Prometheus'
// own code, and prints it as JSON for the tests.
//
//	prometheus metrics CONTENT-TYPE < BODY
//	prometheus rules FILE
//
// What Prometheus would refuse ends it with status 1.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string, in io.Reader, out io.Writer) error {
	if len(arguments) != 2 {
		return errors.New("usage: prometheus metrics CONTENT-TYPE | rules FILE")
	}
	var found any
	var err error
	switch command, argument := arguments[0], arguments[1]; command {
	case "metrics":
		found, err = readMetrics(in, argument)
	case "rules":
		found, err = readRules(argument)
	default:
		err = fmt.Errorf("no such command: %s", command)
	}
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
}
