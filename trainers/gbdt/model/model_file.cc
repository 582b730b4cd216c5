#include "trainers/gbdt/model/model_file.h"

#include <fmt/format.h>

#include <charconv>

#include "base/status_text.h"
#include "trainers/common/checkpoint_folder.h"
#include "trainers/common/whole_file.h"
#include "trainers/gbdt/model/model_document.h"
#include "trainers/gbdt/model/xgboost_model.h"

namespace winnow::gbdt {
namespace {

constexpr const char* kCheckpointFormat = "winnow-gbdt-checkpoint";
constexpr int64_t kCheckpointVersion = 2;
constexpr const char* kCheckpointEnding = ".ubj";

// Returns the result of `read` on the document in `text`; converts exceptions to a status.
template <typename Read>
auto Parsed(std::string_view text, Read read) -> absl::StatusOr<decltype(read(Document()))> {
  try {
    return read(ParseDocument(text));
  } catch (const MalformedDocument& error) {
    return absl::InvalidArgumentError(fmt::format("malformed: {}", error.what()));
  } catch (const UnsupportedModel& error) {
    return absl::UnimplementedError(error.what());
  }
}

// Returns what a model of XGBoost is that is neither JSON nor UBJSON; "" if it is none.
std::string_view OtherModelOf(std::string_view text) {
  constexpr std::size_t kPickleHead = 256;  // bytes in which a pickle names the class
  if (text.starts_with("binf") || text.starts_with("bs64")) return "of XGBoost's old binary format";
  const bool pickled = text.starts_with("\x80") && text.size() > 1 && text[1] >= 2 && text[1] <= 5;
  if (pickled && text.substr(0, kPickleHead).find("xgboost") != std::string_view::npos)
    return "pickled by Python";
  return "";
}

Model ReadAnyModel(const Document& document) {
  if (document.Find("learner") == nullptr)
    throw MalformedDocument("this is no model of winnow-gbdt or XGBoost");
  return ReadXgboostModel(document);
}

Checkpoint ReadCheckpoint(const Document& document) {
  const Document* format = document.Find("format");
  if (format == nullptr || format->text != kCheckpointFormat)
    throw MalformedDocument("this is not a checkpoint of winnow-gbdt");
  if (const int64_t version = document.WholeAt("version"); version != kCheckpointVersion)
    throw MalformedDocument(
        fmt::format("version {}: this program reads version {}", version, kCheckpointVersion));
  Checkpoint checkpoint;
  checkpoint.model = ReadXgboostModel(document.At("model"));
  const std::string& fingerprint = document.TextAt("data_fingerprint");
  const char* end = fingerprint.data() + fingerprint.size();
  if (const auto [at, error] = std::from_chars(fingerprint.data(), end, checkpoint.data_fingerprint, 16);
      error != std::errc() || at != end)
    throw MalformedDocument("data_fingerprint: expected a hexadecimal number");
  checkpoint.metric_names = document.TextsAt("metrics");
  checkpoint.stopped_early = document.WholeAt("stopped_early") != 0;
  const auto history = document.NumbersAt<float>("history");
  const auto rounds = static_cast<std::size_t>(checkpoint.model.rounds());
  const std::size_t metrics = checkpoint.metric_names.size();
  if (history.size() != rounds * metrics)
    throw MalformedDocument(
        fmt::format("{} values of history for {} rounds and {} metrics", history.size(), rounds, metrics));
  for (std::size_t round = 0; round < rounds; ++round)
    checkpoint.history.emplace_back(history.begin() + round * metrics,
                                    history.begin() + (round + 1) * metrics);
  return checkpoint;
}

}  // namespace

std::string ModelText(const Model& model, ModelFormat format) {
  const Document document = XgboostModel(model);
  return format == ModelFormat::kUbjson ? UbjsonText(document) : JsonText(document);
}

absl::StatusOr<Model> ParseModel(std::string_view text) {
  if (const std::string_view other = OtherModelOf(text); !other.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "a model {}; expected JSON or UBJSON: load it with the version of XGBoost that wrote it, and "
        "write it with save_model(\"model.json\")",
        other));
  }
  return Parsed(text, ReadAnyModel);
}

std::string CheckpointText(const Checkpoint& checkpoint) {
  std::vector<float> history;
  for (const std::vector<float>& round : checkpoint.history)
    history.insert(history.end(), round.begin(), round.end());
  return UbjsonText(
      Document::Object()
          .With("format", Document::Text(kCheckpointFormat))
          .With("version", Document::Whole(kCheckpointVersion))
          .With("model", XgboostModel(checkpoint.model))
          .With("data_fingerprint", Document::Text(fmt::format("{:016x}", checkpoint.data_fingerprint)))
          .With("metrics", Document::Texts(checkpoint.metric_names))
          .With("history", Document::Numbers(history))
          .With("stopped_early", Document::Whole(checkpoint.stopped_early)));
}

absl::StatusOr<Checkpoint> ParseCheckpoint(std::string_view text) { return Parsed(text, ReadCheckpoint); }

absl::StatusOr<Model> ReadModel(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadWholeFile(path);
  if (!text.ok()) return text.status();
  absl::StatusOr<Model> model = ParseModel(*text);
  if (model.ok()) return model;
  return absl::Status(model.status().code(), fmt::format("{}: {}", path, MessageOf(model.status())));
}

absl::Status WriteModel(const std::string& path, const Model& model) {
  return WriteFileWhole(path,
                        ModelText(model, path.ends_with(".ubj") ? ModelFormat::kUbjson : ModelFormat::kJson));
}

absl::Status WriteCheckpoint(const std::string& folder, const Checkpoint& checkpoint,
                             const std::set<std::string>& begun_with) {
  return WriteCheckpointFile(folder, checkpoint.model.rounds(), kCheckpointEnding, CheckpointText(checkpoint),
                             begun_with);
}

absl::StatusOr<Checkpoint> ReadNewestCheckpoint(const std::string& folder,
                                                std::vector<std::string>* warnings) {
  return winnow::ReadNewestCheckpoint(folder, kCheckpointEnding, ParseCheckpoint, warnings);
}

}  // namespace winnow::gbdt
