#pragma once

#include <chrono>
#include <memory>

#include "server/http/app.h"

namespace winnow {

// 200 if the probe says OK within `patience`, else 503 with what it said. `count` counts it as long as it
// lives.
std::shared_ptr<Exchange> MakeHealthCheck(HealthProbe probe, std::chrono::milliseconds patience,
                                          CallCount* count);

}  // namespace winnow
