#include "spec/checks/source.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "base/names.h"
#include "spec/placeholders.h"
#include "spec/values.h"

namespace winnow {
namespace {

constexpr int kMostPatterns = 1000;
constexpr int kMostSetupArguments = 1000;
constexpr size_t kMostTextBytes = 4096;

class SourceChecker {
 public:
  explicit SourceChecker(const v1::TuningJobSpec& spec) : trainer_(spec.trainer()) {}

  std::vector<Violation> Run() {
    Code();
    Keys();
    MetricsFile();
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  // False: it is not a text that a program can be given.
  bool Text(const std::string& at, const std::string& text, size_t most = kMostTextBytes) {
    if (text.find('\0') != std::string::npos) return false;  // CheckTexts reports it
    if (text.size() > most) {
      Add(at, fmt::format("has {} bytes; expected at most {}", text.size(), most));
      return false;
    }
    return true;
  }

  void Code() {
    const bool has_source = !trainer_.source().empty();
    if (has_source && trainer_.command_size() == 0)
      Add("trainer.source", "is given; expected it with trainer.command only");
    if (has_source) Text("trainer.source", trainer_.source());
    if (!has_source) {
      const std::string why = "is given; expected it with trainer.source only";
      if (trainer_.exclude_size() > 0) Add("trainer.exclude", why);
      if (trainer_.setup_size() > 0) Add("trainer.setup", why);
    }
    if (trainer_.exclude_size() > kMostPatterns) {
      Add("trainer.exclude",
          fmt::format("has {} entries; expected at most {}", trainer_.exclude_size(), kMostPatterns));
    }
    for (int i = 0; i < std::min(trainer_.exclude_size(), kMostPatterns); ++i) {
      const std::string at = fmt::format("trainer.exclude[{}]", i);
      if (trainer_.exclude(i).empty()) Add(at, "is empty; expected a pattern, as in a .gitignore");
      if (trainer_.exclude(i).find('\n') != std::string::npos) Add(at, "has two lines; expected one pattern");
      Text(at, trainer_.exclude(i));
    }
    if (trainer_.setup_size() > kMostSetupArguments) {
      return Add("trainer.setup", fmt::format("has {} entries; expected at most {}", trainer_.setup_size(),
                                              kMostSetupArguments));
    }
    for (int i = 0; i < trainer_.setup_size(); ++i) {
      const std::string at = fmt::format("trainer.setup[{}]", i);
      if (i == 0 && trainer_.setup(0).empty()) Add(at, "is empty; expected a program");
      Text(at, trainer_.setup(i), 16 * kMostTextBytes);
      if (!Placeholders(trainer_.setup(i)).empty()) {
        Add(at,
            "has a placeholder of a hyperparameter; expected none, because setup runs once for all trials");
      }
    }
  }

  void Keys() {
    bool any_key = false;
    for (int i = 0; i < trainer_.metrics_size(); ++i) {
      const v1::MetricDefinition& metric = trainer_.metrics(i);
      any_key = any_key || metric.regex().empty();
      const std::string at = fmt::format("trainer.metrics[{}]", i);
      Text(at + ".key", metric.key(), 256);
      if (!metric.key().empty() && !metric.regex().empty()) {
        Add(at, fmt::format("has the regex {} and the key {}; expected one of them", Quoted(metric.regex()),
                            Quoted(metric.key())));
      }
      if (!metric.regex().empty() && !trainer_.metrics_file().empty()) {
        Add(at + ".regex",
            "is given with trainer.metrics_file; expected a key, because expressions read standard output");
      }
    }
    Text("trainer.resource_key", trainer_.resource_key(), 256);
    if (trainer_.resource_key().empty()) return;
    if (trainer_.command_size() == 0) {
      Add("trainer.resource_key", "is given; expected it with trainer.command only");
    } else if (!any_key) {
      Add("trainer.resource_key",
          "is given, but every metric has a regex; expected it with metrics that are read by keys");
    } else if (!trainer_.resource_regex().empty()) {
      Add("trainer.resource_key", "is given together with trainer.resource_regex; expected one of them");
    }
  }

  void MetricsFile() {
    const std::string& file = trainer_.metrics_file();
    const std::string at = "trainer.metrics_file";
    if (file.empty() || !Text(at, file)) return;
    if (trainer_.command_size() == 0) Add(at, "is given; expected it with trainer.command only");
    if (!trainer_.resource_regex().empty())
      Add("trainer.resource_regex",
          "is given with trainer.metrics_file; expected trainer.resource_key, because expressions read "
          "standard "
          "output");
    const std::filesystem::path path(file);
    const bool leaves = std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
    if (path.is_absolute() || leaves)
      Add(at, "is " + Quoted(file) +
                  "; expected a path relative to SM_OUTPUT_DATA_DIR that does not leave it, such as "
                  "metrics.jsonl");
  }

  const v1::TrainerSpec& trainer_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckSource(const v1::TuningJobSpec& spec) { return SourceChecker(spec).Run(); }

}  // namespace winnow
