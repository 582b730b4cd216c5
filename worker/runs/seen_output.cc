#include "worker/runs/seen_output.h"

#include <optional>

#include "base/utf8.h"
#include "fmt/format.h"
#include "worker/runs/failure_cause.h"

namespace winnow {
namespace {

// "`loss` (regex `…`)" or "`loss` (key `…`)".
std::string HowToRead(const v1::MetricDefinition& metric) {
  if (!metric.regex().empty()) return fmt::format("`{}` (regex `{}`)", metric.name(), metric.regex());
  return fmt::format("`{}` (key `{}`)", metric.name(), metric.key().empty() ? metric.name() : metric.key());
}

std::string Counted(int64_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string DescribeLines(const SeenOutput& seen) {
  if (seen.follower != nullptr) {
    const std::string problem = seen.follower->problem();
    if (!problem.empty()) return problem;
    const std::string names = seen.follower->first_names().substr(0, kShownLineBytes);
    const char* const s = seen.follower->records() == 1 ? "" : "s";
    const std::string& header = seen.follower->header();
    return fmt::format(
        "{} got {} line{} or record{}{}{}{}", seen.assignment.metrics_file(), seen.follower->records(), s, s,
        names.empty() ? "" : ", the first with ", names,
        names.empty() && !header.empty()
            ? fmt::format(", the first without a number: the header is `{}`, and commas separate cells",
                          header)
            : "");
  }
  if (seen.lines == 0) return "it printed no line";
  return fmt::format("it printed {}, the last was `{}`", Counted(seen.lines, "line"), seen.last_line);
}

std::string DescribeCutLine(const SeenOutput& seen) {
  if (!seen.cut_line || seen.follower != nullptr) return "";
  return " A line was longer than 64 KiB, and only its beginning was read: print metrics in a line of their "
         "own.";
}

// Whether a number has a comma in place of its point: "0,5".
bool HasDecimalComma(std::string_view text) {
  return text.find(',') != std::string_view::npos && text.find_first_not_of("+-0123456789,eE") == text.npos;
}

// What a program says of its failure although it exits with 0, such as in `train.py | tee log`; or the
// values, if it logs them to standard error.
std::string DescribeErrors(const SeenOutput& seen) {
  const std::string cause = FindCause(seen.errors);
  if (cause.empty()) return "";
  return fmt::format(" Its standard error, from which no metrics are read, ended with `{}`.",
                     Utf8Prefix(cause, kShownLineBytes));
}

std::string ReadFrom(const SeenOutput& seen) {
  if (seen.follower != nullptr) return "";
  return fmt::format(" Metrics are read from {}standard output only.",
                     seen.assignment.world_size() > 1 ? "rank 0's " : "");
}

std::string OtherRanks(const SeenOutput& seen) {
  const int32_t ranks = seen.assignment.world_size();
  return ranks <= 1 ? "" : fmt::format(" Of the {} ranks, only rank 0's metrics are read.", ranks);
}

std::string UnreadObjective(const SeenOutput& seen, const v1::MetricDefinition& objective,
                            const std::string& no_number) {
  if (seen.follower != nullptr)
    return fmt::format("The program exited without writing {}: {}.", HowToRead(objective),
                       DescribeLines(seen));
  if (seen.lines == 0)
    return fmt::format("The program exited without printing `{}`: it printed no line.", objective.name());
  if (objective.regex().empty())
    return fmt::format(
        "The program exited without printing {} (none of {} was a JSON object with a number of that name; "
        "the last was `{}`).{}",
        HowToRead(objective), Counted(seen.lines, "line"), seen.last_line,
        seen.last_line.starts_with("{'") ? " How Python prints a dict is no JSON: print json.dumps of it."
                                         : "");
  if (!no_number.empty())
    return fmt::format(
        "The program printed `{}`, but its regex `{}` took `{}`, which is no number; the last of {} was "
        "`{}`.{}",
        objective.name(), objective.regex(), no_number, Counted(seen.lines, "line"), seen.last_line,
        HasDecimalComma(no_number) ? " Print numbers with a point." : "");
  return fmt::format(
      "The program exited without printing `{}` (regex `{}` matched none of {}; the last was `{}`).",
      objective.name(), objective.regex(), Counted(seen.lines, "line"), seen.last_line);
}

}  // namespace

std::string LevelBelowOne(const SeenOutput& seen) {
  const std::optional<int64_t> level = seen.parser.below_one();
  if (!level) return "";
  const int64_t offset = seen.assignment.resource_offset();
  return fmt::format(
      "Trial {} reported level {}. Its values were not recorded, because levels begin at 1. If the program "
      "counts from {}, set trainer.resource_offset to {}.",
      seen.assignment.trial(), *level, *level - offset, offset + 1 - *level);
}

std::string ReportedTwice(const SeenOutput& seen) {
  if (seen.parser.told_twice().empty()) return "";
  return fmt::format("Trial {} reported {}. Only the first value counts: report each once per level.",
                     seen.assignment.trial(), seen.parser.told_twice());
}

std::string NumberCut(const SeenOutput& seen) {
  const std::optional<CutNumber>& cut = seen.parser.cut();
  if (!cut) return "";
  return fmt::format(
      "Trial {} printed `{}` as {}, but its regex took only {}, and that is the value that counts. {}",
      seen.assignment.trial(), cut->metric, cut->whole, cut->taken,
      cut->has_comma ? "Print numbers with a point: Winnow reads no comma in a number."
                     : "Let the group match the whole number, such as with ([-+0-9.eE]+|nan|inf).");
}

std::string TwoNumbersInALine(const SeenOutput& seen) {
  const std::optional<TwoInALine>& two = seen.parser.two_in_a_line();
  if (!two) return "";
  return fmt::format(
      "Trial {} printed `{}`, and the regex of `{}` matches both {} and {} in it. Only {} counts. If you "
      "mean the other, let the regex match more of the text before it (winnow run: a longer --metric).",
      seen.assignment.trial(), two->line, two->metric, two->first, two->second, two->first);
}

std::string UnmatchedMetrics(const SeenOutput& seen) {
  std::string names;
  bool any_took = false;
  for (const size_t metric : seen.parser.Unmatched()) {
    const v1::MetricDefinition& definition = seen.assignment.metrics(static_cast<int>(metric));
    const std::string& took = seen.parser.no_number(metric);
    names += (names.empty() ? "" : ", ") + HowToRead(definition);
    if (!took.empty()) names += fmt::format(", which took `{}`", took);
    any_took = any_took || !took.empty();
  }
  if (names.empty()) return "";
  return fmt::format("Trial {} finished, but no line {} {}; {}.{}{}", seen.assignment.trial(),
                     any_took ? "gave a number for" : "matched", names, DescribeLines(seen), ReadFrom(seen),
                     DescribeCutLine(seen));
}

std::string NoObjective(const SeenOutput& seen) {
  const std::string& name = seen.assignment.objective_metric();
  for (const size_t metric : seen.parser.Unmatched()) {
    const v1::MetricDefinition& definition = seen.assignment.metrics(static_cast<int>(metric));
    if (definition.name() == name)
      return UnreadObjective(seen, definition, seen.parser.no_number(metric)) + OtherRanks(seen) +
             DescribeCutLine(seen) + DescribeErrors(seen);
  }
  const bool has_level = seen.parser.has_level();
  const std::string& regex = seen.assignment.resource_regex();
  if (!has_level && regex.empty()) {
    return fmt::format("The program gave `{}` without a level: none of its lines had a whole number `{}`.",
                       name,
                       seen.assignment.resource_key().empty() ? "step" : seen.assignment.resource_key());
  }
  if (const std::optional<double> found = seen.parser.no_level(); !has_level && found) {
    return fmt::format(
        "The program printed `{}` without a level: resource_regex `{}` found {}; expected a whole number, "
        "such as the number of an epoch or a step.",
        name, regex, *found);
  }
  if (!has_level) {
    return fmt::format(
        "The program printed `{}` without a level (resource_regex `{}` matched none of {}; the last was "
        "`{}`).",
        name, regex, Counted(seen.lines, "line"), seen.last_line);
  }
  if (!seen.parser.below_one()) return "";
  return fmt::format("The program printed `{}` at levels below 1 only; trainer.resource_offset shifts them.",
                     name);
}

}  // namespace winnow
