#include "spec/checks/suspend.h"

#include <string>

namespace winnow {

std::vector<Violation> CheckSuspend(const v1::TuningJobSpec& spec) {
  const v1::TrainerSpec& trainer = spec.trainer();
  if (trainer.warm() != v1::TrainerSpec::SUSPEND || trainer.external()) return {};
  std::vector<Violation> violations;
  const auto refuse = [&violations](bool refused, const std::string& beside, const std::string& why) {
    if (refused)
      violations.push_back(
          {"trainer.warm", "is SUSPEND beside " + beside + "; expected it without, because " + why});
  };
  if (trainer.command_size() == 0 || !trainer.has_resumes() || trainer.resumes()) {
    violations.push_back(
        {"trainer.warm",
         "is SUSPEND; expected it with trainer.command and \"resumes\": false only: a program that "
         "resumes needs no suspension"});
  }
  refuse(spec.cluster().nodes() > 1 || !spec.cluster().nodes_parameter().empty(), "several nodes",
         "the ranks of a trial cannot be suspended together");
  refuse(spec.cluster().gpus() > 0 || spec.cluster().gpu_share() > 0, "GPUs",
         "a suspended program keeps the memory of its devices");
  refuse(spec.has_repeats(), "repeats", "each repeat is a training of its own");
  refuse(trainer.has_container(), "trainer.container",
         "suspending the container's engine does not suspend the program in it");
  refuse(!trainer.metrics_file().empty(), "trainer.metrics_file",
         "the program is suspended when it has printed its level");
  return violations;
}

}  // namespace winnow
