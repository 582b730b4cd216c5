#include "spec/checks/channels.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/data_url.h"
#include "base/names.h"
#include "base/status_text.h"
#include "spec/builtin_trainers.h"

namespace winnow {
namespace {

class ChannelChecker {
 public:
  explicit ChannelChecker(const v1::TuningJobSpec& spec)
      : spec_(spec), builtin_(FindBuiltinTrainer(spec.trainer().builtin())) {}

  std::vector<Violation> Run() {
    const std::map<std::string, v1::Channel> sorted(spec_.channels().begin(), spec_.channels().end());
    for (const auto& [name, channel] : sorted) {
      at_ = "channels." + name;
      Path(channel);
      Mode(channel);
    }
    return std::move(violations_);
  }

 private:
  void Add(const std::string& field, const std::string& description) {
    violations_.push_back({at_ + field, description});
  }

  void Path(const v1::Channel& channel) {
    url_ = {};
    remote_ = false;
    if (channel.path().empty()) Add(".path", "is missing; expected a file or a directory");
    if (HasScheme(channel.path())) {
      absl::StatusOr<DataUrl> url = ParseDataUrl(channel.path());
      if (url.ok()) {
        url_ = *std::move(url);
        remote_ = true;
      } else {
        // A password in it is not repeated.
        const bool hides = channel.path().find('@') != std::string::npos;
        Add(".path", (hides ? "" : "is " + Quoted(channel.path()) + ", which ") + MessageOf(url.status()));
      }
    }
    if (!channel.endpoint().empty()) {
      if (!remote_ || !url_.is_s3()) {
        Add(".endpoint", "is given; expected it only with a path that begins with s3://");
      } else if (absl::Status status = CheckEndpoint(channel.endpoint()); !status.ok()) {
        Add(".endpoint", MessageOf(status));
      }
    }
    if (channel.sha256().empty()) return;
    const bool digest = channel.sha256().size() == 64 &&
                        channel.sha256().find_first_not_of("0123456789abcdef") == std::string::npos;
    if (!remote_ || url_.is_prefix()) {
      Add(".sha256", "is given; expected it only with the URL of one file, which is downloaded");
    } else if (!digest) {
      Add(".sha256", "is " + Quoted(channel.sha256()) +
                         "; expected 64 lower-case hexadecimal digits, as sha256sum prints them");
    }
  }

  void Mode(const v1::Channel& channel) {
    const std::string& mode = channel.mode();
    if (!mode.empty() && mode != "file" && mode != "pipe")
      Add(".mode", "is " + Quoted(mode) + "; expected one of file, pipe");
    const bool several = spec_.cluster().nodes() > 1 || !spec_.cluster().nodes_parameter().empty();
    const bool one_file_for_several =
        remote_ && !url_.is_prefix() && channel.distribution() == "sharded" && several;
    if (builtin_ != nullptr && one_file_for_several) {
      Add(".distribution",
          fmt::format("is \"sharded\" for one file, and the ranks of {} divide a directory by file; "
                      "expected replicated, or s3:// with a prefix of several objects",
                      builtin_->name));
    }
    if (mode != "pipe") return;
    if (builtin_ != nullptr && channel.distribution() == "sharded" && several) {
      Add(".mode",
          fmt::format("is \"pipe\" for a channel that is sharded, and the ranks of {} divide a directory "
                      "themselves; expected mode file, or replicated",
                      builtin_->name));
    }
    if (builtin_ != nullptr && channel.format() == "idx")
      Add(".mode", "is \"pipe\" for IDX, which has two files; expected mode file");
    if (!channel.sha256().empty()) {
      Add(".sha256",
          "is given with mode pipe; expected mode file: a stream has reached the program before its end is "
          "known");
    }
    if (one_file_for_several) {
      Add(".mode",
          "is \"pipe\" for one file that is sharded; expected mode file, because the lines of a "
          "download are counted at its end, or s3:// with a prefix of several objects");
    }
  }

  const v1::TuningJobSpec& spec_;
  const BuiltinTrainer* builtin_;
  std::string at_;
  DataUrl url_;  // of the channel, if remote_
  bool remote_ = false;
  std::vector<Violation> violations_;
};

}  // namespace

std::vector<Violation> CheckChannels(const v1::TuningJobSpec& spec) { return ChannelChecker(spec).Run(); }

}  // namespace winnow
