#include "spec/values.h"

namespace winnow {

v1::HyperparameterValue ToProto(const std::string& name, const Value& value) {
  v1::HyperparameterValue proto;
  proto.set_name(name);
  if (const auto* integer = std::get_if<int64_t>(&value)) {
    proto.set_integer(*integer);
  } else if (const auto* real = std::get_if<double>(&value)) {
    proto.set_continuous(*real);
  } else {
    proto.set_categorical(std::get<std::string>(value));
  }
  return proto;
}

Value FromProto(const v1::HyperparameterValue& value) {
  switch (value.value_case()) {
    case v1::HyperparameterValue::kInteger:
      return value.integer();
    case v1::HyperparameterValue::kContinuous:
      return value.continuous();
    default:
      return value.categorical();
  }
}

}  // namespace winnow
