// Devices as text: the same model comes back, and nothing else is taken for one.
#include "base/device_model.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "base/text.h"
#include "tests/raises.h"

namespace plait {
namespace {

std::string message(const std::string& text) {
  return test::message_of([&] { device_model_from_text(text, "d.txt"); });
}

TEST(DeviceModel, EveryBuiltInOneComesBackFromItsText) {
  for (const std::string& name : built_in_devices()) {
    const DeviceModel model = *built_in_device(name);
    check_usable(model, name);
    EXPECT_EQ(device_model_from_text(to_text(model), name), model) << name;
    EXPECT_EQ(to_text(device_model_from_text(to_text(model), name)), to_text(model));
  }
  EXPECT_FALSE(built_in_device("h100"));
}

TEST(DeviceModel, NumbersComeBackToTheLastBit) {
  std::mt19937_64 draw(7);
  std::uniform_real_distribution<double> any(0, 1e15);
  for (int i = 0; i < 200; ++i) {
    DeviceModel model = h200();
    model.bytes_per_second = any(draw);
    model.step_seconds = any(draw) * 1e-21;
    model.operations_per_second["f16"] = any(draw);
    model.share = {{"a", any(draw)}, {"b.c", any(draw) * 1e-18}};
    EXPECT_EQ(device_model_from_text(to_text(model), "d"), model);
  }
}

TEST(DeviceModel, DamageIsNamed) {
  const std::string text = to_text(h200());
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string out = text;
    const std::size_t at = out.find(from);
    EXPECT_NE(at, out.npos) << from;
    return out.replace(at, from.size(), to);
  };
  EXPECT_EQ(message(""), "d.txt: this is no device");
  EXPECT_EQ(message("graph g() {}"), "d.txt: this is no device");
  EXPECT_EQ(message(with("plait-device 1", "plait-device 9")),
            "d.txt: the device is of format '9', this is 1");
  EXPECT_EQ(message(text.substr(0, text.size() / 2)),
            "d.txt: the device is cut: its last line is not 'end'");
  EXPECT_EQ(message(with("processors 132\n", "")), "d.txt: the device does not say 'processors'");
  EXPECT_EQ(message(with("processors 132", "processors 132\nprocessors 1")),
            "d.txt: 'processors' is said twice");
  EXPECT_EQ(message(with("processors 132", "processors 132\nsockets 2")),
            "d.txt: a device has no 'sockets'");
  EXPECT_EQ(message(with("processors 132", "processors 0")),
            "d.txt: a device has a processor, at least");
  for (const char* bad : {"many", "-1", "1x", "", "1e400", "nan", "inf"}) {
    EXPECT_EQ(
        message(with("step_seconds 2e-06", str("step_seconds ", bad))),
        str("d.txt: 'step_seconds' of the device is \"", bad, "\", which is no number from 0 on"));
  }
}

TEST(DeviceModel, NoPrefixAndNoMissingLineIsTaken) {
  const std::string text = to_text(h200());
  for (std::size_t n = 0; n + 1 < text.size(); ++n) {
    EXPECT_THROW(device_model_from_text(text.substr(0, n), "d"), UserError) << n;
  }
}

TEST(DeviceModel, WhatCostsDivideByIsNotZero) {
  DeviceModel model = h200();
  model.tiles.products_per_us.erase("wg");
  EXPECT_EQ(test::message_of([&] { check_usable(model, "d"); }),
            "d: 'tiles.products_per_us:wg' of the device is 0: nothing can be predicted by it");
}

TEST(DeviceModel, NumbersThatNoCostStaysFiniteByAreRefused) {
  const auto message_with = [](auto change) {
    DeviceModel model = h200();
    change(model);
    return test::message_of([&] { check_usable(model, "d"); });
  };
  EXPECT_EQ(message_with([](DeviceModel& m) { m.share["avx512.f32"] = 0; }),
            "d: 'share:avx512.f32' of the device is 0, which is not in 1e-06..1e+06");
  EXPECT_EQ(message_with([](DeviceModel& m) { m.step_seconds = 1e300; }),
            "d: 'step_seconds' of the device is 1e+300, which is not in 0..1");
  EXPECT_EQ(message_with([](DeviceModel& m) { m.finish_seconds = 1.5; }),
            "d: 'finish_seconds' of the device is 1.5, which is not in 0..1");
  EXPECT_EQ(message_with([](DeviceModel& m) { m.bytes_per_second = 1e-300; }),
            "d: 'bytes_per_second' of the device is 1e-300, which is not in 1..1e+30");
  EXPECT_EQ(message_with([](DeviceModel& m) { m.operations_per_second["bf16"] = 0; }),
            "d: 'operations_per_second:bf16' of the device is 0, which is not in 1..1e+30");
  EXPECT_EQ(message_with([](DeviceModel& m) { m.tiles.begin_us = 1e308; }),
            "d: 'tiles.begin_us' of the device is 1e+308, which is not in 0..1e+06");
}

}  // namespace
}  // namespace plait
