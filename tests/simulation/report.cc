#include "tests/simulation/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

namespace winnow {
namespace {

char repeat_line[512];

std::string RepeatLine(const std::string& program, Scale scale, int64_t seed) {
  return fmt::format("{}{} --seed {} --trace", program, scale == Scale::kLarge ? " --large" : " --small",
                     seed);
}

void OnAbort(int) {
  static constexpr char kWords[] = "\na broken invariant ended the process; it is repeated by\n  ";
  (void)!write(STDERR_FILENO, kWords, sizeof(kWords) - 1);
  (void)!write(STDERR_FILENO, repeat_line, std::strlen(repeat_line));
  (void)!write(STDERR_FILENO, "\n", 1);
  _exit(1);
}

}  // namespace

SeedReport::SeedReport(std::string program, Scale scale) : program_(std::move(program)), scale_(scale) {
  for (const int signal : {SIGABRT, SIGSEGV}) std::signal(signal, OnAbort);
}

void SeedReport::Begin(int64_t seed) {
  const std::string line = RepeatLine(program_, scale_, seed);
  std::snprintf(repeat_line, sizeof(repeat_line), "%s", line.c_str());
}

bool SeedReport::Take(int64_t seed, const RunResult& result) {
  ++seeds_;
  total_.hash = total_.hash * 31 + result.hash;
  total_.steps += result.steps;
  total_.batches += result.batches;
  total_.decisions += result.decisions;
  total_.facts += result.facts;
  total_.reports += result.reports;
  total_.changes += result.changes;
  total_.virtual_us += result.virtual_us;
  for (int fault = 0; fault < kFaults; ++fault) total_.faults[fault] += result.faults[fault];
  if (result.violation.empty()) return true;
  fmt::print("seed {} breaks a promise after {} steps: {}\nit is repeated by\n  {}\n", seed, result.steps,
             result.violation, RepeatLine(program_, scale_, seed));
  return false;
}

void SeedReport::Print() const {
  fmt::print(
      "{} seeds kept every promise: {} steps, {} batches, {} facts, {} decisions, {} reports, {} changes by "
      "people, {:.1f} days of virtual time, hash {:016x}\nfaults:",
      seeds_, total_.steps, total_.batches, total_.facts, total_.decisions, total_.reports, total_.changes,
      static_cast<double>(total_.virtual_us) / 86'400e6, total_.hash);
  for (int fault = 0; fault < kFaults; ++fault) {
    fmt::print("{} {} {}", fault == 0 ? "" : ",", total_.faults[fault], NameOf(static_cast<Fault>(fault)));
  }
  fmt::print("\n");
}

}  // namespace winnow
