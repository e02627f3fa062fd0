/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "reports/stats/loss-counts.h"

#include "reports/schema/quantiles.h"

namespace reports
{

namespace
{

const Object<SegmentCounts>&
SegmentKeys()
{
    static const Object<SegmentCounts> keys{
        {"segments_sent (count): TCP: segments with data", &SegmentCounts::sent},
        {"segments_retransmitted (count): TCP: of these, sent again",
         &SegmentCounts::retransmitted},
        {"time_outs (count): TCP: times a connection sent again after its time-out",
         &SegmentCounts::timeouts}};
    return keys;
}

const Object<DatagramCounts>&
DatagramKeys()
{
    using Counts = DatagramCounts;
    static const Object<Counts> keys{
        {"datagrams_sent (count): UDP: datagrams; whole run", &Counts::sent},
        {"datagrams_received (count): UDP: of these, arrived", &Counts::received},
        {"datagrams_lost (count): UDP: of these, did not arrive although a later one did, or "
         "nothing for 10 ms",
         &Counts::GetLost},
        {"datagrams_under_way (count): UDP: of these, sent behind the last one that arrived",
         &Counts::GetUnderWay},
        {"datagram_delay_us (us): UDP: from the sender's socket to the receiver's",
         [](const Counts& c) { return ToJson(QuantilesOf(c.delay, 1e6)); },
         QuantileWords()}};
    return keys;
}

} // namespace

void
AddTo(nlohmann::ordered_json& json, const SegmentCounts& counts)
{
    SegmentKeys().AddTo(json, counts);
}

void
AddTo(nlohmann::ordered_json& json, const DatagramCounts& counts)
{
    DatagramKeys().AddTo(json, counts);
}

const Shape&
LossWords()
{
    static const JoinedKeys words({&SegmentKeys(), &DatagramKeys()});
    return words;
}

} // namespace reports
