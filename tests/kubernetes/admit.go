package main

import (
	"fmt"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/apps"
	_ "k8s.io/kubernetes/pkg/apis/apps/install"
	appsvalidation "k8s.io/kubernetes/pkg/apis/apps/validation"
	"k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	corevalidation "k8s.io/kubernetes/pkg/apis/core/validation"
)

// What the API server does with an object that it is given: the object as it would keep it.
func admit(yaml []byte) (runtime.Object, error) {
	scheme := legacyscheme.Scheme
	codecs := serializer.NewCodecFactory(scheme, serializer.EnableStrict)
	object, kind, err := codecs.UniversalDeserializer().Decode(yaml, nil, nil)
	if err != nil {
		return nil, err
	}
	if _, ok := object.(*monitoring.PodMonitor); ok {
		return object, nil
	}
	scheme.Default(object)
	internal, err := scheme.UnsafeConvertToVersion(object.DeepCopyObject(), runtime.InternalGroupVersioner)
	if err != nil {
		return nil, err
	}
	mistakes, err := validate(internal)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind.Kind, err)
	}
	return object, mistakes.ToAggregate()
}

func validate(object runtime.Object) (field.ErrorList, error) {
	switch object := object.(type) {
	case *apps.DaemonSet:
		return appsvalidation.ValidateDaemonSet(object, corevalidation.PodValidationOptions{}), nil
	case *core.ConfigMap:
		return corevalidation.ValidateConfigMap(object), nil
	case *core.Namespace:
		return corevalidation.ValidateNamespace(object), nil
	case *core.ServiceAccount:
		return corevalidation.ValidateServiceAccount(object), nil
	}
	return nil, fmt.Errorf("no validation for %T here: add it", object)
}

func init() {
	if err := monitoring.AddToScheme(legacyscheme.Scheme); err != nil {
		panic(err)
	}
}
