#include "trainers/mlp/profile/trace.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "nlohmann/json.hpp"

namespace winnow::mlp {
namespace {

// Writes numbers in native byte order: all ranks run one program on one kind of machine, as their groups
// require.
template <typename Number>
void Append(Number number, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&number), sizeof(number));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename Number>
  bool Read(Number* number) {
    if (bytes_.size() < sizeof(Number)) return false;
    std::memcpy(number, bytes_.data(), sizeof(Number));
    bytes_.remove_prefix(sizeof(Number));
    return true;
  }
  bool Read(std::string* text) {
    uint32_t size = 0;
    if (!Read(&size) || bytes_.size() < size) return false;
    text->assign(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return true;
  }
  bool done() const { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

std::string Encode(const RankProfile& profile) {
  std::string bytes;
  for (const double seconds : profile.seconds) Append(seconds, &bytes);
  Append(static_cast<uint64_t>(profile.spans.size()), &bytes);
  for (const Profile::Span& span : profile.spans) {
    Append(static_cast<uint8_t>(span.phase), &bytes);
    Append(span.thread, &bytes);
    Append(span.step, &bytes);
    Append(span.begin_ns, &bytes);
    Append(span.end_ns, &bytes);
  }
  for (const Profile::Value& value : profile.values) {
    Append(static_cast<uint32_t>(value.name.size()), &bytes);
    bytes += value.name;
    Append(value.step, &bytes);
    Append(value.value, &bytes);
  }
  return bytes;
}

bool Decode(std::string_view bytes, RankProfile* profile) {
  Reader reader(bytes);
  for (double& seconds : profile->seconds) {
    if (!reader.Read(&seconds)) return false;
  }
  uint64_t spans = 0;
  if (!reader.Read(&spans)) return false;
  for (uint64_t i = 0; i < spans; ++i) {
    uint8_t phase = 0;
    Profile::Span span{};
    if (!reader.Read(&phase) || phase >= kPhases || !reader.Read(&span.thread) || !reader.Read(&span.step) ||
        !reader.Read(&span.begin_ns) || !reader.Read(&span.end_ns))
      return false;
    span.phase = static_cast<Phase>(phase);
    profile->spans.push_back(span);
  }
  while (!reader.done()) {
    Profile::Value value;
    if (!reader.Read(&value.name) || !reader.Read(&value.step) || !reader.Read(&value.value)) return false;
    profile->values.push_back(std::move(value));
  }
  return true;
}

double Microseconds(int64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-3; }

}  // namespace

std::string_view PhaseName(Phase phase) {
  constexpr std::string_view kNames[kPhases] = {"load",        "forward", "backward",
                                                "communicate", "update",  "evaluate"};
  return kNames[static_cast<int>(phase)];
}

RankProfile TakeProfile(const Profile& profile, int rank) {
  RankProfile taken{rank, profile.spans(), profile.values(), {}};
  for (int p = 0; p < kPhases; ++p) taken.seconds[p] = profile.Seconds(static_cast<Phase>(p));
  return taken;
}

absl::StatusOr<std::vector<RankProfile>> GatherProfiles(const Profile& profile, Communicator* ranks) {
  const auto gathered = ranks->AllGather(Encode(TakeProfile(profile, ranks->rank())));
  if (!gathered.ok()) return gathered.status();
  std::vector<RankProfile> all(gathered->size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r].rank = static_cast<int>(r);
    if (!Decode((*gathered)[r], &all[r]))
      return absl::DataLossError(fmt::format("the profile of rank {} came damaged", r));
  }
  return all;
}

std::string ChromeTrace(const std::vector<RankProfile>& ranks) {
  std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  std::string_view between = "";
  const auto add = [&](std::string event) {
    text += between;
    text += '\n';
    text += event;
    between = ",";
  };
  for (const RankProfile& rank : ranks) {
    add(fmt::format(R"({{"ph":"M","name":"process_name","pid":{0},"tid":0,"args":{{"name":"rank {0}"}}}})",
                    rank.rank));
    std::map<int64_t, int64_t> step_ends;  // by step, for values, which have no time of their own
    for (const Profile::Span& span : rank.spans) {
      int64_t& end = step_ends[span.step];
      end = std::max(end, span.end_ns);
      add(fmt::format(
          R"({{"ph":"X","name":"{}","cat":"phase","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"args":{{"step":{}}}}})",
          PhaseName(span.phase), rank.rank, span.thread, Microseconds(span.begin_ns),
          Microseconds(span.end_ns - span.begin_ns), span.step));
    }
    for (const Profile::Value& value : rank.values) {
      const auto end = step_ends.find(value.step);
      if (end == step_ends.end() || !std::isfinite(value.value)) continue;  // JSON has no infinities
      const std::string name = nlohmann::json(value.name).dump();
      add(fmt::format(R"({{"ph":"C","name":{0},"pid":{1},"ts":{2:.3f},"args":{{{0}:{3}}}}})", name, rank.rank,
                      Microseconds(end->second), value.value));
    }
  }
  return text + "\n]}\n";
}

std::array<PhaseTimes, kPhases> TimesOf(const RankProfile& rank) {
  std::array<std::map<int64_t, int64_t>, kPhases> by_step;
  for (const Profile::Span& span : rank.spans) {
    if (span.thread == 0) by_step[static_cast<int>(span.phase)][span.step] += span.end_ns - span.begin_ns;
  }
  double all = 0;
  for (const double seconds : rank.seconds) all += seconds;
  std::array<PhaseTimes, kPhases> times;
  for (int p = 0; p < kPhases; ++p) {
    times[p].seconds = rank.seconds[p];
    times[p].share = all > 0 ? rank.seconds[p] / all : 0;
    if (by_step[p].empty()) continue;
    std::vector<int64_t> steps;
    int64_t sum = 0;
    for (const auto& [step, nanoseconds] : by_step[p]) {
      steps.push_back(nanoseconds);
      sum += nanoseconds;
    }
    // The least value that 99 of 100 steps do not exceed.
    const std::size_t nth = (steps.size() * 99 + 99) / 100 - 1;
    std::nth_element(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(nth), steps.end());
    times[p].mean = static_cast<double>(sum) * 1e-9 / static_cast<double>(steps.size());
    times[p].p99 = static_cast<double>(steps[nth]) * 1e-9;
  }
  return times;
}

std::string PhaseTable(const std::vector<RankProfile>& ranks) {
  std::string text = fmt::format("{:>4}  {:<11}  {:>9}  {:>6}  {:>12}  {:>10}\n", "rank", "phase", "seconds",
                                 "share", "mean ms/step", "p99 ms");
  for (const RankProfile& rank : ranks) {
    const std::array<PhaseTimes, kPhases> times = TimesOf(rank);
    for (int p = 0; p < kPhases; ++p) {
      if (times[p].seconds == 0) continue;
      text += fmt::format("{:>4}  {:<11}  {:>9.3f}  {:>5.1f}%  {:>12.3f}  {:>10.3f}\n", rank.rank,
                          PhaseName(static_cast<Phase>(p)), times[p].seconds, times[p].share * 100,
                          times[p].mean * 1e3, times[p].p99 * 1e3);
    }
  }
  return text;
}

}  // namespace winnow::mlp
