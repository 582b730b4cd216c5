#include "spec/checks/container.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/names.h"
#include "spec/placeholders.h"

namespace winnow {
namespace {

constexpr size_t kMostImageBytes = 1024;
constexpr size_t kMostOptionBytes = 4096;
constexpr int kMostOptions = 100;
constexpr std::array<std::string_view, 3> kEngines = {"podman", "docker", "apptainer"};

// Whether a program can be given the text as one argument of one line.
bool IsOneLine(const std::string& text) {
  return text.find_first_of(std::string_view("\0\n\r", 3)) == text.npos;
}

class ContainerChecker {
 public:
  explicit ContainerChecker(const v1::TuningJobSpec& spec)
      : trainer_(spec.trainer()), container_(spec.trainer().container()) {}

  std::vector<Violation> Run() {
    if (trainer_.command_size() == 0)
      Add("trainer.container", "is given; expected it with trainer.command only");
    Image();
    if (const std::string& engine = container_.engine();
        !engine.empty() && std::find(kEngines.begin(), kEngines.end(), engine) == kEngines.end())
      Add("trainer.container.engine", "is " + Quoted(engine) + "; expected podman, docker or apptainer");
    Options();
    // Engines read the variables of a container line by line.
    for (const auto& [name, value] : trainer_.environment()) {
      if (!IsOneLine(value) || !IsOneLine(name))
        Add("trainer.environment." + name, "has a line end; expected one line with trainer.container");
    }
    std::sort(violations_.begin(), violations_.end(),
              [](const Violation& a, const Violation& b) { return a.field < b.field; });
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({field, description});
  }

  void Image() {
    const std::string at = "trainer.container.image";
    const std::string& image = container_.image();
    if (image.empty()) return Add(at, "is missing; expected the name of an image, such as python:3.12");
    if (image.size() > kMostImageBytes)
      return Add(at, fmt::format("has {} bytes; expected at most {}", image.size(), kMostImageBytes));
    const bool good = image[0] != '-' && std::none_of(image.begin(), image.end(),
                                                      [](unsigned char c) { return c <= ' ' || c == 0x7f; });
    if (!good || !Placeholders(image).empty())
      Add(at, "is " + Quoted(image) + "; expected the name of an image, such as python:3.12");
  }

  void Options() {
    if (container_.options_size() > kMostOptions) {
      return Add("trainer.container.options",
                 fmt::format("has {} entries; expected at most {}", container_.options_size(), kMostOptions));
    }
    for (int i = 0; i < container_.options_size(); ++i) {
      const std::string at = fmt::format("trainer.container.options[{}]", i);
      const std::string& option = container_.options(i);
      if (option.size() > kMostOptionBytes) {
        Add(at, fmt::format("has {} bytes; expected at most {}", option.size(), kMostOptionBytes));
      } else if (!option.starts_with('-') || option == "-" || option == "--" || !IsOneLine(option)) {
        Add(at, "is " + Quoted(option) +
                    "; expected one option with its value, such as --ulimit=nofile=4096:4096");
      } else if (!Placeholders(option).empty()) {
        Add(at, "has a placeholder of a hyperparameter; expected none");
      }
    }
  }

  const v1::TrainerSpec& trainer_;
  const v1::ContainerSpec& container_;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckContainer(const v1::TuningJobSpec& spec) {
  if (!spec.trainer().has_container()) return {};
  return ContainerChecker(spec).Run();
}

}  // namespace winnow
