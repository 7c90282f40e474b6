package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// The variables of OpenTelemetry's specification that are read here; the
// exporter reads the rest (headers, timeout, compression, certificates).
const (
	otlpEndpoint        = "OTEL_EXPORTER_OTLP_ENDPOINT"
	otlpMetricsEndpoint = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
	otlpProtocol        = "OTEL_EXPORTER_OTLP_PROTOCOL"
	otelService         = "OTEL_SERVICE_NAME"
)

// openOTLP pushes the very series of /metrics to an OpenTelemetry collector,
// every minute and at the end, when the environment names one. A collector
// that is away costs its readings, nothing else.
func (s *service) openOTLP(ctx context.Context) error {
	endpoint := s.env[otlpMetricsEndpoint]
	if endpoint == "" && s.env[otlpEndpoint] != "" {
		endpoint = strings.TrimSuffix(s.env[otlpEndpoint], "/") + "/v1/metrics"
	}
	if endpoint == "" {
		return nil
	}
	if p := s.env[otlpProtocol]; p != "" && p != "http/protobuf" {
		return usageError(fmt.Errorf("%s: %q is not spoken here; use http/protobuf", otlpProtocol, p))
	}
	exporter, err := otlpmetrichttp.New(ctx, otlpmetrichttp.WithEndpointURL(endpoint))
	if err != nil {
		return usageError(fmt.Errorf("%s: %w", otlpEndpoint, err))
	}
	name := s.env[otelService]
	if name == "" {
		name = "waybill"
	}
	producer := bridge.NewMetricProducer(bridge.WithGatherer(s.metrics.registry))
	s.otlp = metric.NewMeterProvider(
		metric.WithResource(resource.NewSchemaless(attribute.String("service.name", name), attribute.String("service.version", version()))),
		metric.WithReader(metric.NewPeriodicReader(exporter, metric.WithProducer(producer))),
	)
	return nil
}

// lastTime is what the last push may take of the time to stop.
const lastTime = 300 * time.Millisecond

func (s *service) lastMetrics() {
	if s.otlp == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lastTime)
	defer cancel()
	if err := s.otlp.Shutdown(ctx); err != nil {
		s.log.Warn("the last metrics did not reach the collector", "error", err)
	}
}
