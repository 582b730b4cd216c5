#pragma once

#include <grpcpp/server_builder.h>

namespace winnow {

class Metrics;

// Has `builder`'s server observe how long each call of our services takes, by method and code, and say of a request that
// cannot be read what is wrong with it. `metrics`
// outlives the server.
void MeasureCalls(Metrics& metrics, grpc::ServerBuilder& builder);

}  // namespace winnow
