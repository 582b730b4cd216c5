#pragma once

#include <cstdint>

namespace winnow {

// A job that may want slots.
struct Claim {
  int64_t job = 0;  // older ones have lower keys
  int32_t priority = 0;
  double weight = 1;      // more than 0
  int64_t slots = 0;      // that it holds
  bool reserves = false;  // workers are kept for its gang

  // Who is served first: higher priority; then the one for which workers are kept, or its gang would wait
  // again; then fewest slots per weight; then the older. A total order of claims of distinct jobs.
  friend bool operator<(const Claim& a, const Claim& b);
};

// Whether a reservation of `holder` keeps `other` away from its workers: unless `other` has the higher
// priority.
bool Binds(const Claim& holder, const Claim& other);

}  // namespace winnow
