#pragma once

#include <grpcpp/server_builder.h>

namespace winnow {

class Metrics;

// Makes `builder`'s server measure the duration of each call of our services, by method and code, and explain
// errors of requests that do not parse. `metrics` outlives the server.
void MeasureCalls(Metrics& metrics, grpc::ServerBuilder& builder);

}  // namespace winnow
