#pragma once

#include <google/protobuf/text_format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "winnow/v1/tuning.pb.h"

namespace winnow {

// Parses a message's text form.
template <class Message>
Message Text(const std::string& text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) throw std::runtime_error(text);
  return message;
}

// "bank": a Hyperband job of 5 trials that has ended, 2026-11-21 08:00:00 to 08:01:12.
v1::TuningJob SampleJob();
// SampleJob while it runs: 2 of 5 trials have ended.
v1::TuningJob RunningJob();
std::vector<v1::Trial> SampleTrials();
v1::TuningJobEvent SampleEvent(int64_t sequence, const std::string& kind, const std::string& text);

// A job file that is valid, and refers to no data.
std::string SampleFile();

}  // namespace winnow
