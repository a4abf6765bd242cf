package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
)

// family is all samples of one name.
type family struct {
	Name    string   `json:"name"`
	Type    string   `json:"type"`
	Help    string   `json:"help"`
	Samples []sample `json:"samples"`
}

// sample is one value with its labels. One of a histogram has the name of its
// part, such as NAME_bucket.
type sample struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Value  float64           `json:"value"`
}

// readMetrics parses a whole answer twice: as the server scrapes it, and, in
// the old format, as tools do.
func readMetrics(in io.Reader, contentType string) ([]family, error) {
	body, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	scraped, err := scrape(body, contentType)
	if err != nil {
		return nil, fmt.Errorf("scraping: %w", err)
	}
	format := expfmt.ResponseFormat(map[string][]string{"Content-Type": {contentType}})
	if format.FormatType() == expfmt.TypeTextPlain {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		parsed, err := parser.TextToMetricFamilies(bytes.NewReader(body))
		if err != nil {
			return nil, fmt.Errorf("expfmt: %w", err)
		}
		if err := compare(scraped, parsed); err != nil {
			return nil, err
		}
	}
	return scraped, nil
}

// scrape reads a body as the server does.
func scrape(body []byte, contentType string) ([]family, error) {
	parser, err := textparse.New(body, contentType, labels.NewSymbolTable(), textparse.ParserOptions{})
	if err != nil {
		return nil, err
	}
	var families []family
	current := func(name string) (*family, error) {
		if last := len(families) - 1; last >= 0 && families[last].Name == name {
			return &families[last], nil
		}
		if slices.ContainsFunc(families, func(f family) bool { return f.Name == name }) {
			return nil, fmt.Errorf("family %s is in two places", name)
		}
		families = append(families, family{Name: name, Samples: []sample{}})
		return &families[len(families)-1], nil
	}
	seen := map[string]bool{}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return families, nil
		}
		if err != nil {
			return nil, err
		}
		switch entry {
		case textparse.EntryHelp:
			name, help := parser.Help()
			f, err := current(string(name))
			if err != nil {
				return nil, err
			}
			f.Help = string(help)
		case textparse.EntryType:
			name, kind := parser.Type()
			f, err := current(string(name))
			if err != nil {
				return nil, err
			}
			f.Type = string(kind)
		case textparse.EntrySeries:
			var set labels.Labels
			parser.Labels(&set)
			if key := set.String(); seen[key] {
				return nil, fmt.Errorf("%s is there twice", key)
			} else {
				seen[key] = true
			}
			if len(families) == 0 {
				return nil, fmt.Errorf("%s has no family", set)
			}
			_, _, value := parser.Series()
			named := set.Map()
			name := named[model.MetricNameLabel]
			delete(named, model.MetricNameLabel)
			f := &families[len(families)-1]
			f.Samples = append(f.Samples, sample{Name: name, Labels: named, Value: value})
		}
	}
}

// compare says where two ways to read a body differ in families and their types.
func compare(scraped []family, parsed map[string]*dto.MetricFamily) error {
	var names []string
	for _, f := range scraped {
		// The other way leaves out what has no samples.
		if len(f.Samples) == 0 {
			continue
		}
		names = append(names, f.Name)
		if other, ok := parsed[f.Name]; ok && !sameType(f.Type, other.GetType()) {
			return fmt.Errorf("%s is a %s to one parser and a %s to another", f.Name, f.Type, other.GetType())
		}
	}
	slices.Sort(names)
	if others := slices.Sorted(maps.Keys(parsed)); !slices.Equal(names, others) {
		return fmt.Errorf("one parser finds %v, another %v", names, others)
	}
	return nil
}

func sameType(name string, kind dto.MetricType) bool {
	types := map[string]dto.MetricType{
		"counter":   dto.MetricType_COUNTER,
		"gauge":     dto.MetricType_GAUGE,
		"histogram": dto.MetricType_HISTOGRAM,
	}
	expected, known := types[name]
	return known && expected == kind
}
