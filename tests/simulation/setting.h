#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tests/simulation/dice.h"
#include "tests/simulation/ledger.h"
#include "tests/simulation/profile.h"
#include "tests/simulation/trace.h"
#include "tests/simulation/virtual_time.h"

namespace winnow {

// After so long a client sends again what was not answered.
constexpr int64_t kResendUs = 3'000'000;

// State shared by all parts of one run.
struct Setting {
  Setting(uint64_t seed, Scale scale, bool print, SimDatabase* database)
      : profile(DrawProfile(seed, scale)), dice(seed), trace(print), ledger(database) {}

  void Note(std::string_view what, std::string_view who = "", int64_t one = 0, int64_t two = 0) {
    trace.Note(time.now_us(), what, who, one, two);
  }
  void Count(Fault fault) { ++faults[static_cast<size_t>(fault)]; }
  // Random, unless everything has recovered.
  bool Strikes(Fault fault, double probability) {
    if (healed || !dice.Chance(probability)) return false;
    Count(fault);
    return true;
  }

  const Profile profile;
  VirtualTime time;
  Dice dice;
  Trace trace;
  Ledger ledger;
  bool healed = false;  // no faults from now on
  std::array<int64_t, kFaults> faults = {};
};

}  // namespace winnow
