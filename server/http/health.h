#pragma once

#include <chrono>
#include <memory>

#include "server/http/app.h"

namespace winnow {

// 200 if the probe reports OK within `patience`, otherwise 503 with its message. `count` counts it during its
// lifetime.
std::shared_ptr<Exchange> MakeHealthCheck(HealthProbe probe, std::chrono::milliseconds patience,
                                          CallCount* count);

}  // namespace winnow
