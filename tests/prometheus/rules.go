package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// rule is an alert, and what its query asks for.
type rule struct {
	Alert       string            `json:"alert"`
	For         string            `json:"for"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
	Selectors   []selector        `json:"selectors"`
	// The labels by which it groups or joins.
	Grouping []string `json:"grouping"`
}

// selector is one set of series that a query asks for.
type selector struct {
	Metric   string    `json:"metric"`
	Matchers []matcher `json:"matchers"`
}

type matcher struct {
	Label string `json:"label"`
	Op    string `json:"op"`
	Value string `json:"value"`
}

func readRules(file string) ([]rule, error) {
	promql := parser.NewParser(parser.Options{})
	groups, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, promql)
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	var rules []rule
	for _, group := range groups.Groups {
		for _, r := range group.Rules {
			query, err := promql.ParseExpr(r.Expr)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", r.Alert, err)
			}
			found := rule{
				Grouping:    []string{},
				Alert:       r.Alert,
				For:         time.Duration(r.For).String(),
				Labels:      r.Labels,
				Annotations: r.Annotations,
			}
			parser.Inspect(query, func(node parser.Node, _ []parser.Node) error {
				switch node := node.(type) {
				case *parser.VectorSelector:
					found.Selectors = append(found.Selectors, asked(node))
				case *parser.AggregateExpr:
					found.Grouping = append(found.Grouping, node.Grouping...)
				case *parser.BinaryExpr:
					if node.VectorMatching != nil {
						found.Grouping = append(found.Grouping, node.VectorMatching.MatchingLabels...)
						found.Grouping = append(found.Grouping, node.VectorMatching.Include...)
					}
				}
				return nil
			})
			rules = append(rules, found)
		}
	}
	return rules, nil
}

func asked(node *parser.VectorSelector) selector {
	found := selector{Metric: node.Name, Matchers: []matcher{}}
	for _, m := range node.LabelMatchers {
		if m.Name == labels.MetricName {
			continue
		}
		found.Matchers = append(found.Matchers, matcher{Label: m.Name, Op: m.Type.String(), Value: m.Value})
	}
	return found
}
