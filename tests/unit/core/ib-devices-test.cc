/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "contrib/rdma/core/ib/ib-devices.h"

#include <gtest/gtest.h>
#include <set>
#include <string>

using namespace rdma;

TEST(IbDevices, FoundByAnySpelling)
{
    EXPECT_STREQ(FindIbSwitch("switch-ib-2")->name, "switch-ib-2");
    EXPECT_STREQ(FindIbSwitch("Switch-IB 2")->name, "switch-ib-2");
    EXPECT_STREQ(FindIbSwitch("SWITCHIB")->name, "switch-ib");
    EXPECT_STREQ(FindIbSwitch("Quantum-X800")->name, "quantum-x800");
    EXPECT_STREQ(FindIbAdapter("ConnectX6")->name, "connectx-6");
    EXPECT_EQ(FindIbSwitch("quantum-3"), nullptr);
    EXPECT_EQ(FindIbSwitch(""), nullptr);
    EXPECT_EQ(FindIbAdapter("quantum"), nullptr);
    EXPECT_EQ(NearestIbSwitchName("qantum"), "quantum");
    EXPECT_EQ(NearestIbAdapterName("conectx-7"), "connectx-7");
    EXPECT_EQ(NearestIbSwitchName("tomahawk4"), "");
}

TEST(IbDevices, FiguresOfTheSources)
{
    EXPECT_EQ(FindIbSwitch("infiniscale-4")->portBuffer.value, 64000u);  // 1,000 flits of 64 B
    EXPECT_EQ(FindIbSwitch("infiniscale-4")->latency, Nanoseconds(100)); // 50 + 50
    EXPECT_EQ(FindIbSwitch("switch-ib")->latency, Nanoseconds(90));
    EXPECT_EQ(FindIbSwitch("switch-ib")->portBuffer.value, 200000u); // 2,000 x 100
    EXPECT_EQ(IbVlBlocks(FindIbSwitch("switch-ib")->portBuffer, 8),
              390u);                                               // 200,000 / 64 / 8 = 390.6
    EXPECT_EQ(FindIbSwitch("switchx")->portBuffer.value, 109090u); // 2,000 x 600 / 11
    EXPECT_EQ(FindIbSwitch("quantum")->latency, Nanoseconds(130));
    EXPECT_EQ(FindIbAdapter("connectx-6")->latency, Nanoseconds(600));
}

TEST(IbDevices, EveryOneCanWork)
{
    std::set<std::string> names;
    const auto check = [&](const auto& devices) {
        IbSpeed before = IbSpeed::kSdr;
        for (const auto& d : devices)
        {
            EXPECT_TRUE(names.insert(d.name).second) << d.name;
            EXPECT_GE(d.link.speed, before) << d.name << " is out of order";
            before = d.link.speed;
            EXPECT_GT(d.latency.ps, 0);
            // With all of its VLs in use each can take a packet, from QDR on of the greatest MTU.
            const uint32_t mtu = d.link.speed < IbSpeed::kQdr ? 2048 : d.mtu;
            EXPECT_GE(IbVlBlocks(d.portBuffer, d.dataVls), IbLargestPacketBlocks(mtu)) << d.name;
            const std::string source = d.source;
            EXPECT_TRUE(source.find('[') != std::string::npos ||
                        source.find("assumed") != std::string::npos);
        }
    };
    check(IbSwitches());
    check(IbAdapters());
    EXPECT_EQ(IbSwitchNames().size(), 8u);
    EXPECT_EQ(IbAdapterNames().size(), 7u);
}

TEST(IbDevices, TheFirstGenerationThatRunsASpeed)
{
    EXPECT_STREQ(IbSwitchFor(IbSpeed::kSdr).name, "infiniscale-3");
    EXPECT_STREQ(IbSwitchFor(IbSpeed::kQdr).name, "infiniscale-4");
    EXPECT_STREQ(IbSwitchFor(IbSpeed::kFdr10).name, "switchx");
    EXPECT_STREQ(IbSwitchFor(IbSpeed::kEdr).name, "switch-ib");
    EXPECT_STREQ(IbSwitchFor(IbSpeed::kXdr).name, "quantum-x800");
    EXPECT_STREQ(IbAdapterFor(IbSpeed::kSdr).name, "connectx-2");
    EXPECT_STREQ(IbAdapterFor(IbSpeed::kEdr).name, "connectx-4");
    EXPECT_STREQ(IbAdapterFor(IbSpeed::kXdr).name, "connectx-8");
}
