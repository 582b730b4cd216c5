#include "server/sagemaker/wire/access_keys.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/ascii.h"
#include "artifact/files.h"
#include "server/sagemaker/wire/digests.h"

namespace winnow {
namespace {

constexpr int64_t kMostKeyFileBytes = 4 << 20;
constexpr char kFirstAccount[] = "123456789012";

bool IsAccount(const std::string& text) {
  return text.size() == 12 && std::all_of(text.begin(), text.end(), absl::ascii_isdigit);
}

bool IsKeyId(const std::string& text) {
  return text.size() >= 16 && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(), absl::ascii_isalnum);
}

}  // namespace

absl::Status CreateFirstKey(const std::filesystem::path& file) {
  std::error_code missing;
  if (std::filesystem::exists(file, missing)) return absl::OkStatus();
  nlohmann::ordered_json key;
  key["access_key_id"] = "WNW" + absl::AsciiStrToUpper(RandomHex(8));
  key["secret_access_key"] = RandomHex(20);
  key["account"] = kFirstAccount;
  key["name"] = "first";
  const std::filesystem::path part = file.string() + ".part";
  absl::StatusOr<OpenFile> open = OpenFile::Open(part, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!open.ok()) return open.status();
  absl::Status status = open->Write(nlohmann::ordered_json::array({key}).dump(2) + "\n");
  if (status.ok()) status = open->Sync();
  if (!status.ok()) return status;
  std::error_code error;
  std::filesystem::rename(part, file, error);
  return error ? FileError(file, "write", error.value()) : SyncFolder(file.parent_path());
}

absl::StatusOr<AccessKeys> AccessKeys::Open(const std::filesystem::path& file, bool tokens_required) {
  const absl::StatusOr<OpenFile> open = OpenFile::Open(file, O_RDONLY);
  if (!open.ok()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} cannot be read; expected a JSON list of access keys, each with a token", file.string()));
  }
  const absl::StatusOr<std::string> text = open->ReadAt(0, kMostKeyFileBytes);
  if (!text.ok()) return text.status();
  const auto list = nlohmann::json::parse(*text, nullptr, false);
  if (!list.is_array())
    return absl::InvalidArgumentError(fmt::format("{}: expected a JSON list of access keys", file.string()));
  AccessKeys keys;
  std::map<std::string, std::string> projects;  // by account
  for (size_t i = 0; i < list.size(); ++i) {
    const auto text_of = [&](const char* name) -> std::string {
      if (!list[i].is_object() || !list[i].contains(name) || !list[i][name].is_string()) return "";
      return list[i][name];
    };
    const auto wrong = [&](const char* name, const char* expected) {
      return absl::InvalidArgumentError(
          fmt::format("{}: [{}].{}: expected {}", file.string(), i, name, expected));
    };
    AccessKey key{text_of("access_key_id"), text_of("secret_access_key"),
                  text_of("account"),       text_of("name"),
                  text_of("token"),         text_of("project")};
    if (key.project == "default") key.project = "";
    if (!IsKeyId(key.id)) return wrong("access_key_id", "16 to 128 letters and digits");
    if (key.secret.size() < 16) return wrong("secret_access_key", "at least 16 characters");
    if (!IsAccount(key.account)) return wrong("account", "12 digits");
    if (tokens_required && key.token.empty())
      return wrong("token", "a token of Winnow, because this server requires tokens");
    const auto [account, fresh] = projects.emplace(key.account, key.project);
    if (!fresh && account->second != key.project)
      return wrong("project",
                   "that of the account's other keys, because keys of one account see the same jobs");
    const std::string id = key.id;
    if (!keys.keys_.emplace(id, std::move(key)).second)
      return wrong("access_key_id", "another id than the others");
  }
  return keys;
}

const AccessKey* AccessKeys::Find(std::string_view id) const {
  const auto found = keys_.find(id);
  return found == keys_.end() ? nullptr : &found->second;
}

}  // namespace winnow
