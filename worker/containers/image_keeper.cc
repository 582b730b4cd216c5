#include "worker/containers/image_keeper.h"

#include <algorithm>
#include <system_error>

#include "absl/status/status.h"
#include "artifact/digest.h"
#include "base/status_text.h"
#include "fmt/format.h"
#include "spdlog/spdlog.h"
#include "worker/containers/container_command.h"

namespace winnow {
namespace {

namespace fs = std::filesystem;

constexpr fs::perms kFolderMode{0711};  // trials under --run-as reach their images
constexpr std::chrono::seconds kLookPatience(60);
constexpr std::chrono::seconds kPullPatience(3600);

std::string LastWords(const EngineCall::Result& result) {
  const std::string line = LastLine(result.errors);
  return line.empty() ? LastLine(result.output) : line;
}

}  // namespace

ImageKeeper::ImageKeeper(EventLoop* loop, fs::path work, std::vector<std::string> environment,
                         bool other_users)
    : loop_(loop),
      folder_(std::move(work) / "images"),
      environment_(std::move(environment)),
      other_users_(other_users) {
  std::error_code ignored;  // the folder is missing until an image is pulled
  fs::permissions(folder_, kFolderMode, ignored);
}

ImageKeeper::~ImageKeeper() = default;

absl::StatusOr<ContainerEngine> ImageKeeper::Choose(const v1::ContainerSpec& spec) const {
  const std::string path = PathOf(environment_);
  if (spec.engine().empty()) {
    for (const ContainerEngine engine : kContainerEngines) {
      if (IsInstalled(engine, path)) return engine;
    }
    return absl::FailedPreconditionError(fmt::format(
        "trainer.container: this worker has none of podman, docker and apptainer in its PATH ({})", path));
  }
  const std::optional<ContainerEngine> engine = EngineNamed(spec.engine());
  if (engine.has_value() && IsInstalled(*engine, path)) return *engine;
  return absl::FailedPreconditionError(
      fmt::format("trainer.container.engine is \"{}\", which this worker does not have in its PATH ({})",
                  spec.engine(), path));
}

void ImageKeeper::Prepare(const std::string& assignment, const v1::ContainerSpec& spec, Progress progress,
                          Done done) {
  const absl::StatusOr<ContainerEngine> engine = Choose(spec);
  if (!engine.ok()) return done(engine.status());
  for (const std::string& option : spec.options()) {
    if (!other_users_ || IsHarmless(option)) continue;
    return done(absl::FailedPreconditionError(
        fmt::format("trainer.container.options has \"{}\"; this worker runs trials as other users "
                    "(--run-as), and takes only "
                    "--cap-drop=, --entrypoint=, --hostname=, --read-only, --stop-signal= and --ulimit=",
                    option)));
  }
  const Name name(*engine, spec.image());
  if (const auto ready = ready_.find(name); ready != ready_.end())
    return done(ContainerImage{*engine, ready->second});
  Making& making = making_[name];
  making.waiters.push_back({assignment, std::move(progress), std::move(done)});
  if (making.waiters.size() == 1 && making.call == nullptr) Look(name, false);
}

void ImageKeeper::Abandon(const std::string& assignment) {
  for (auto making = making_.begin(); making != making_.end();) {
    std::vector<Waiter>& waiters = making->second.waiters;
    std::erase_if(waiters, [&](const Waiter& waiter) { return waiter.assignment == assignment; });
    making = waiters.empty() ? making_.erase(making) : std::next(making);
  }
}

void ImageKeeper::Forget(const std::string& reference) {
  std::erase_if(ready_, [&](const auto& ready) { return ready.second == reference; });
}

fs::path ImageKeeper::FileOf(const std::string& image) const {
  return folder_ / (DigestOf(image).substr(0, 32) + ".sif");
}

// The id of an image that the host has.
void ImageKeeper::Look(const Name& name, bool pulled) {
  const auto& [engine, image] = name;
  if (engine == ContainerEngine::kApptainer) {
    const bool is_file = image.find("://") == std::string::npos;
    const fs::path file = is_file ? fs::path(image) : FileOf(image);
    std::error_code error;
    if (fs::exists(file, error)) return Finish(name, file.string());
    if (!is_file && !pulled) return Pull(name);
    return Finish(name, absl::FailedPreconditionError(fmt::format(
                            "trainer.container.image is \"{}\", which is not a file on this worker", image)));
  }
  Run(name, {std::string(ProgramOf(engine)), "image", "inspect", "--format={{.Id}}", image}, false,
      [this, name, pulled](const EngineCall::Result& result) {
        const std::string id = LastLine(result.output);
        if (result.exit_code == 0 && !id.empty()) return Finish(name, id);
        if (!pulled) return Pull(name);
        Finish(name, absl::FailedPreconditionError(
                         fmt::format("trainer.container.image \"{}\" is not there after a pull: {}",
                                     name.second, LastWords(result))));
      });
}

void ImageKeeper::Pull(const Name& name) {
  const auto& [engine, image] = name;
  spdlog::info("{} pulls image {}", ProgramOf(engine), image);
  std::vector<std::string> command = {std::string(ProgramOf(engine)), "pull"};
  if (engine == ContainerEngine::kApptainer) {
    std::error_code ignored;
    fs::create_directories(folder_, ignored);
    fs::permissions(folder_, kFolderMode, ignored);
    command.insert(command.end(), {"--force", FileOf(image).string() + ".part"});
  }
  command.push_back(image);
  Run(name, std::move(command), true,
      [this, name](const EngineCall::Result& result) { Pulled(name, result); });
}

void ImageKeeper::Pulled(const Name& name, const EngineCall::Result& result) {
  const auto& [engine, image] = name;
  if (result.exit_code != 0) {
    const std::string how = result.out_of_time ? fmt::format("took longer than {} s", kPullPatience.count())
                                               : fmt::format("failed with exit code {}", result.exit_code);
    const std::string words = LastWords(result);
    return Finish(name, absl::FailedPreconditionError(fmt::format(
                            "trainer.container.image \"{}\": `{} pull` {}{}{}", image, ProgramOf(engine), how,
                            words.empty() ? "; it wrote nothing" : ": ", words)));
  }
  if (engine == ContainerEngine::kApptainer) {
    std::error_code error;
    const fs::path file = FileOf(image);
    fs::rename(file.string() + ".part", file, error);
    if (error)
      return Finish(name, absl::ResourceExhaustedError(
                              fmt::format("cannot keep image {}: {}", image, error.message())));
    fs::permissions(file, fs::perms(0644), error);
  }
  // An image from an archive is known by the id alone, which podman prints last.
  if (engine == ContainerEngine::kPodman && !LastLine(result.output).empty())
    return Finish(name, LastLine(result.output));
  Look(name, true);
}

void ImageKeeper::Run(const Name& name, std::vector<std::string> command, bool tells, EngineCall::Done done) {
  std::function<void(std::string_view)> told;
  if (tells) {
    told = [this, name](std::string_view line) {
      if (line.empty()) return;
      const std::string text = fmt::format("pulls {}: {}", name.second, line);
      for (const Waiter& waiter : making_.at(name).waiters) {
        if (waiter.progress) waiter.progress(text);
      }
    };
  }
  auto call = EngineCall::Start(loop_, std::move(command), environment_,
                                tells ? kPullPatience : kLookPatience, std::move(told), std::move(done));
  if (!call.ok()) {
    const std::string why =
        fmt::format("{} cannot be started: {}", ProgramOf(name.first), MessageOf(call.status()));
    return Finish(name, absl::IsResourceExhausted(call.status()) ? absl::ResourceExhaustedError(why)
                                                                 : absl::FailedPreconditionError(why));
  }
  if (tells) {
    for (const Waiter& waiter : making_.at(name).waiters) {
      if (waiter.progress) waiter.progress("pulls " + name.second);
    }
  }
  making_.at(name).call = *std::move(call);
}

void ImageKeeper::Finish(const Name& name, absl::StatusOr<std::string> reference) {
  const auto found = making_.find(name);
  const std::vector<Waiter> waiters = std::move(found->second.waiters);
  making_.erase(found);
  if (reference.ok()) {
    ready_[name] = *reference;
    spdlog::info("image {} of {} is {}", name.second, ProgramOf(name.first), *reference);
  } else {
    spdlog::warn("{}", MessageOf(reference.status()));
  }
  for (const Waiter& waiter : waiters)
    reference.ok() ? waiter.done(ContainerImage{name.first, *reference}) : waiter.done(reference.status());
}

}  // namespace winnow
