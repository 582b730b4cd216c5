#include "trainers/mlp/parallel/stage_replicas.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "fmt/format.h"

namespace winnow::mlp {

absl::StatusOr<Message> ReceiveOf(Messenger* messenger, int from, StageTag tag, std::size_t bytes) {
  absl::StatusOr<Message> message = messenger->Receive(from, static_cast<uint32_t>(tag));
  if (message.ok() && message->bytes.size() != bytes)
    return absl::InternalError(fmt::format("rank {} sent {} bytes of a pipeline's step, expected {}", from,
                                           message->bytes.size(), bytes));
  return message;
}

StageReplicas::StageReplicas(Messenger* messenger, int first_rank, int own, std::vector<std::size_t> pieces)
    : messenger_(messenger), first_rank_(first_rank), own_(own), pieces_(std::move(pieces)) {}

absl::Status StageReplicas::SendCounts(std::span<const int32_t> counts, std::size_t begin) {
  for (int r = 0; r < replicas(); ++r) {
    const std::size_t from = std::max(begin, pieces_[r]),
                      to = std::min(begin + counts.size(), pieces_[r + 1]);
    if (r == own_ || from >= to) continue;
    if (absl::Status status = messenger_->Send(first_rank_ + r, static_cast<uint32_t>(StageTag::kCounts),
                                               std::as_bytes(counts.subspan(from - begin, to - from)));
        !status.ok())
      return status;
  }
  return absl::OkStatus();
}

absl::Status StageReplicas::AddCounts(std::span<int32_t> counts, std::size_t begin) {
  const std::size_t from = std::max(begin, pieces_[own_]),
                    to = std::min(begin + counts.size(), pieces_[own_ + 1]);
  if (from >= to) return absl::OkStatus();
  theirs_.resize(to - from);
  for (int r = 0; r < replicas(); ++r) {
    if (r == own_) continue;
    const absl::StatusOr<Message> message =
        ReceiveOf(messenger_, first_rank_ + r, StageTag::kCounts, theirs_.size() * sizeof(int32_t));
    if (!message.ok()) return message.status();
    std::memcpy(theirs_.data(), message->bytes.data(), message->bytes.size());
    int32_t* const own = counts.data() + (from - begin);
    for (std::size_t i = 0; i < theirs_.size(); ++i) own[i] += theirs_[i];
  }
  return absl::OkStatus();
}

absl::Status StageReplicas::ShareParameters(float* parameters) {
  const std::span<const float> own(parameters + begin(), end() - begin());
  for (int r = 0; r < replicas(); ++r) {
    if (r == own_) continue;
    if (absl::Status status = messenger_->Send(first_rank_ + r, static_cast<uint32_t>(StageTag::kParameters),
                                               std::as_bytes(own));
        !status.ok())
      return status;
  }
  for (int r = 0; r < replicas(); ++r) {
    if (r == own_) continue;
    const absl::StatusOr<Message> message = ReceiveOf(messenger_, first_rank_ + r, StageTag::kParameters,
                                                      (pieces_[r + 1] - pieces_[r]) * sizeof(float));
    if (!message.ok()) return message.status();
    std::memcpy(parameters + pieces_[r], message->bytes.data(), message->bytes.size());
  }
  return absl::OkStatus();
}

}  // namespace winnow::mlp
