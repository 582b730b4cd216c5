#include "spec/checks/size.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace winnow {
namespace {

constexpr int kMostMetrics = 100;
constexpr size_t kMostExpressionBytes = 64 << 10;  // of all together
constexpr int kMostListedValues = 10'000;          // of one hyperparameter
constexpr int kMostCategories = 10'000;            // of all hyperparameters together
constexpr size_t kMostValueBytes = 1024;
constexpr int kMostInitialConfigurations = 10'000;
constexpr int kMostEntries = 1000;  // of any other list
constexpr int kMostSources = 100;   // of earlier results

class SizeChecker {
 public:
  explicit SizeChecker(const v1::TuningJobSpec& spec) : spec_(spec) {}

  std::vector<Violation> Run() {
    const size_t bytes = spec_.ByteSizeLong();
    if (bytes > kMostSpecBytes) {
      Add("spec",
          fmt::format(
              "has {} bytes; expected at most {}: long lists belong into files that the trainer reads", bytes,
              kMostSpecBytes));
    }
    Parameters();
    Trainer();
    Count("static_hyperparameters", spec_.static_hyperparameters_size(), kMostEntries);
    Count("channels", spec_.channels_size(), kMostEntries);
    Count("objectives", spec_.objectives_size(), kMostEntries);
    Count("metric_constraints", spec_.metric_constraints_size(), kMostEntries);
    Count("constraints", spec_.constraints_size(), kMostEntries);
    for (int i = 0; i < spec_.constraints_size(); ++i) {
      Count(fmt::format("constraints[{}].coefficients", i), spec_.constraints(i).coefficients_size(),
            kMostEntries);
    }
    Count("sampler.grid_points", spec_.sampler().grid_points_size(), kMostEntries);
    Count("initial_configurations", spec_.initial_configurations_size(), kMostInitialConfigurations);
    Count("warm_start.jobs", spec_.warm_start().jobs_size(), kMostSources);
    Count("warm_start.csv_files", spec_.warm_start().csv_files_size(), kMostSources);
    Count("warm_start.optuna_studies", spec_.warm_start().optuna_studies_size(), kMostSources);
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  void Count(const std::string& field, int count, int most) {
    if (count > most) Add(field, fmt::format("has {} entries; expected at most {}", count, most));
  }

  void Parameters() {
    Count("parameters", spec_.parameters_size(), kMostEntries);
    int categories = 0;
    for (int i = 0; i < spec_.parameters_size() && violations_.empty(); ++i) {
      const v1::ParameterSpec& parameter = spec_.parameters(i);
      const std::string at = fmt::format("parameters[{}]", i);
      Count(at + ".discrete.values", parameter.discrete().values_size(), kMostListedValues);
      Count(at + ".categorical.values", parameter.categorical().values_size(), kMostListedValues);
      categories += parameter.categorical().values_size();
      Count(at + ".condition.values", parameter.condition().values_size(), kMostListedValues);
      if (const size_t bytes = parameter.prior().value().size(); bytes > kMostValueBytes) {
        Add(at + ".prior.value", fmt::format("has {} bytes; expected at most {}", bytes, kMostValueBytes));
      }
      for (int v = 0; v < parameter.categorical().values_size() && violations_.empty(); ++v) {
        const size_t bytes = parameter.categorical().values(v).size();
        if (bytes <= kMostValueBytes) continue;
        Add(fmt::format("{}.categorical.values[{}]", at, v),
            fmt::format("has {} bytes; expected at most {}", bytes, kMostValueBytes));
      }
    }
    // Each is a dimension of the search models.
    if (violations_.empty() && categories > kMostCategories) {
      Add("parameters", fmt::format("have {} categorical values together; expected at most {}", categories,
                                    kMostCategories));
    }
  }

  void Trainer() {
    const v1::TrainerSpec& trainer = spec_.trainer();
    Count("trainer.command", trainer.command_size(), kMostEntries);
    Count("trainer.environment", trainer.environment_size(), kMostEntries);
    Count("trainer.secrets", trainer.secrets_size(), kMostEntries);
    Count("trainer.metrics", trainer.metrics_size(), kMostMetrics);
    size_t expressions = trainer.resource_regex().size();
    for (const v1::MetricDefinition& metric : trainer.metrics()) expressions += metric.regex().size();
    if (expressions <= kMostExpressionBytes) return;
    Add("trainer.metrics", fmt::format("have expressions of {} bytes together; expected at most {}",
                                       expressions, kMostExpressionBytes));
  }

  const v1::TuningJobSpec& spec_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckSize(const v1::TuningJobSpec& spec) { return SizeChecker(spec).Run(); }

}  // namespace winnow
