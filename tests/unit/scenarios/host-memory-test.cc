// SPDX-License-Identifier: GPL-2.0-only
#include "scenarios/dry-run/host-memory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace
{

using scenario::AvailableHostMemory;

/// A machine made of files.
class HostMemory : public testing::Test
{
  protected:
    void SetUp() override
    {
        char name[] = "/tmp/host-memory-XXXXXX";
        m_root = mkdtemp(name);
        Write("proc/meminfo",
              "MemTotal:       16000000 kB\nMemFree:         1000000 kB\nMemAvailable:    8000000 "
              "kB\n");
    }

    void TearDown() override
    {
        std::filesystem::remove_all(m_root);
    }

    void Write(const std::string& file, const std::string& text)
    {
        const std::filesystem::path path = m_root + "/" + file;
        std::filesystem::create_directories(path.parent_path());
        std::ofstream(path) << text;
    }

    std::string m_root;
};

constexpr double kKib = 1024;

TEST_F(HostMemory, WhatTheKernelSays)
{
    EXPECT_EQ(AvailableHostMemory(m_root).bytes, 8000000 * kKib);
    EXPECT_EQ(AvailableHostMemory(m_root).by, "free memory");
    EXPECT_GE(AvailableHostMemory(m_root + "/nothing").bytes, 1e18);
}

TEST_F(HostMemory, ControlGroupsOfVersion2)
{
    Write("proc/self/cgroup", "0::/user/job\n");
    Write("sys/fs/cgroup/user/job/memory.max", "max\n");
    Write("sys/fs/cgroup/user/job/memory.current", "1000\n");
    EXPECT_EQ(AvailableHostMemory(m_root).bytes, 8000000 * kKib);
    // The one above has a limit; a fifth of what is used could be dropped.
    Write("sys/fs/cgroup/user/memory.max", "1000000000\n");
    Write("sys/fs/cgroup/user/memory.current", "500000000\n");
    Write("sys/fs/cgroup/user/memory.stat", "anon 400000000\ninactive_file 100000000\n");
    EXPECT_EQ(AvailableHostMemory(m_root).bytes, 6e8);
    Write("sys/fs/cgroup/user/job/memory.max", "300000000\n");
    EXPECT_EQ(AvailableHostMemory(m_root).bytes, 3e8 - 1000);
    Write("sys/fs/cgroup/user/job/memory.current", "400000000\n");
    EXPECT_EQ(AvailableHostMemory(m_root).bytes, 0);
}

TEST_F(HostMemory, ControlGroupsOfVersion1)
{
    Write("proc/self/cgroup", "9:name=systemd:/\n4:cpu,memory:/docker/abc\n3:cpuset:/\n0::/\n");
    Write("sys/fs/cgroup/memory/memory.limit_in_bytes",
          "2000000000\n"); // the container sees its own at the top
    Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "500000000\n");
    EXPECT_EQ(AvailableHostMemory(m_root).bytes, 15e8);
}

TEST_F(HostMemory, RunsThatDoNotFit)
{
    scenario::MemoryEstimate needed;
    needed.network = 6 * 1073741824.0;
    needed.connections = 3 * 1073741824.0;
    needed.ranks = 0.1 * 1073741824.0;
    EXPECT_EQ(WhyTooLarge(needed, {10e9, "free memory"}), ""); // 9.1 GiB are 9.8e9
    EXPECT_EQ(WhyTooLarge(needed, {8 * 1073741824.0, "free memory"}),
              "the run needs about 9.1 GiB of memory: network 6.0 GiB, queue pairs 3.0 GiB; this "
              "machine has 8.0 GiB left (free "
              "memory); allowed: a smaller run, a larger machine, or --ignore-host-memory");
    EXPECT_EQ(HostMemoryText(needed, {}, {10e9, "free memory"}),
              "about 9.1 GiB: network 6.0 GiB, queue pairs 3.0 GiB");
}

TEST_F(HostMemory, IsToldWithTwoOrThreeDigits)
{
    scenario::MemoryEstimate needed;
    const auto text = [&needed](double bytes) {
        needed.program = bytes;
        return HostMemoryText(needed, {}, {1e18, ""});
    };
    EXPECT_EQ(text(1536), "about 1.5 KiB");
    EXPECT_EQ(text(21.14 * 1048576), "about 21.1 MiB");
    EXPECT_EQ(text(103.4 * 1048576), "about 103 MiB");
    EXPECT_EQ(text(1023 * 1048576.0), "about 1023 MiB");
    EXPECT_EQ(text(1.26 * 1073741824), "about 1.3 GiB");
}

TEST_F(HostMemory, OfSeveralProcessesIsThatOfEach)
{
    scenario::MemoryEstimate needed;
    needed.network = 900e6;
    scenario::Processes two;
    two.count = 2;
    const auto text = [&] { return HostMemoryText(needed, two, {1e18, ""}); };
    const double first = needed.network + scenario::EstimateProcess({}, two).Total();
    EXPECT_NE(text().find(" in the first of 2 processes, less in others"), std::string::npos);
    EXPECT_DOUBLE_EQ(scenario::EstimateProcess(needed, two).Total(), first);
    two.hostsApart = true;
    EXPECT_NE(text().find(" in each of 2 processes"), std::string::npos);
    EXPECT_LT(scenario::EstimateProcess(needed, two).Total(), first);
    EXPECT_EQ(scenario::EstimateProcess(needed, {}).Total(), needed.Total());
}

} // namespace
