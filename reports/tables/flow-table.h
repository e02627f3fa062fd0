/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef REPORTS_TABLES_FLOW_TABLE_H
#define REPORTS_TABLES_FLOW_TABLE_H

#include "reports/base/line-log.h"
#include "reports/base/quantile-sketch.h"

#include <cstdint>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace reports
{

/// A message that arrived.
struct FlowRecord
{
    uint64_t flow{0};
    uint64_t bytes{0};
    int64_t start{0}; //!< posted, ps
    int64_t end{0};   //!< last byte at the receiver, ps
    int64_t ideal{0}; //!< completion time on an idle network, ps
    uint32_t src{0};  //!< endpoint
    uint32_t dst{0};  //!< endpoint
    uint32_t tag{0};
    uint32_t fromGpu{NO_GPU}; //!< rank whose data it is
    uint32_t toGpu{NO_GPU};   //!< rank it is for
    uint8_t trafficClass{0};  //!< scenario::FabricSpec::classes

    static constexpr uint32_t NO_GPU = UINT32_MAX; //!< between hosts

    double Slowdown() const
    {
        return ideal > 0 ? static_cast<double>(end - start) / static_cast<double>(ideal) : 1;
    }
};

/// Messages of one owner, or of all that count.
struct FlowTotals
{
    QuantileSketch fct; //!< ps
    QuantileSketch slowdown;
    uint64_t bytes{0};

    void Add(const FlowRecord& record);
    void Clear();
};

/// Messages of a traffic class.
struct ClassTotals : FlowTotals
{
    int64_t first{INT64_MAX}; //!< post of the first, ps
    int64_t last{0};          //!< last byte of the last, ps
    double rates{0};          //!< sum of the messages' throughputs, bytes a ps
    double squares{0};        //!< sum of their squares
    uint64_t rated{0};        //!< messages in these sums: those with bytes

    void Add(const FlowRecord& record);

    /// \return Jain's index of the messages' throughputs: 1: all alike, 1/n: one has all
    double Jain() const
    {
        return squares > 0 ? rates * rates / (static_cast<double>(rated) * squares) : 1;
    }

    /// \return payload from the first post to the last byte, Gb/s; 0: no message
    double GoodputGbps() const
    {
        return last > first ? static_cast<double>(bytes) * 8e3 / static_cast<double>(last - first)
                            : 0;
    }
};

/**
 * Completion times: quantiles over all messages, and flows.csv.
 *
 * Tags may have owners (jobs that share the network, background traffic), whose messages are also
 * summed up separately. Messages of an owner that is "aside" are in flows.csv and in its own totals
 * only.
 *
 * flows.csv holds every message, in the order of arrival, while there are at most `rowLimit`. With
 * more messages, Finish replaces it by a seeded uniform sample plus the slowest ones (by slowdown),
 * `rowLimit` rows together, by flow number. from_gpu and to_gpu are empty where messages are
 * between hosts (traffic). The last column, class, is there with traffic classes only.
 */
class FlowTable
{
  public:
    /// \param path of flows.csv; empty: no file. \param names of endpoints and tags, kept by
    /// reference \param classes names of traffic classes, by number; none: there is one
    FlowTable(const std::string& path,
              const std::vector<std::string>& endpointNames,
              const std::vector<std::string>& tags,
              uint64_t seed,
              std::size_t rowLimit = 1000000,
              std::size_t slowestLimit = 10000,
              std::vector<std::string> classes = {});

    /// \param aside its messages are in no other totals than its own \return its number, from 1
    uint32_t AddOwner(bool aside);
    /// Before the first message of the tag. Tags without are owner 0's.
    void SetOwner(uint32_t tag, uint32_t owner);

    uint32_t OwnerOf(uint32_t tag) const
    {
        return tag < m_ownerOf.size() ? m_ownerOf[tag] : 0;
    }

    bool IsAside(uint32_t tag) const
    {
        const uint32_t owner = OwnerOf(tag);
        return owner > 0 && m_owners[owner - 1].aside;
    }

    /// \param owner from 1
    const FlowTotals& GetTotals(uint32_t owner) const
    {
        return m_owners[owner - 1].totals;
    }

    /// \return of each class, those aside too; none: there is one
    const std::vector<ClassTotals>& GetClasses() const
    {
        return m_classTotals;
    }

    void Add(const FlowRecord& record);
    /// Forget everything: measuring starts here.
    void Clear();
    /// Complete the file. Nothing may be added afterwards.
    void Finish();

    const QuantileSketch& GetFct() const //!< ps
    {
        return m_all.fct;
    }

    const QuantileSketch& GetSlowdown() const
    {
        return m_all.slowdown;
    }

    uint64_t GetCount() const
    {
        return m_all.fct.Count();
    }

    uint64_t GetBytes() const
    {
        return m_all.bytes;
    }

    /// \return rows in the file, those aside too; fewer if it is a sample
    uint64_t GetRows() const
    {
        return m_rows;
    }

    bool IsSample() const
    {
        return m_rows < m_added;
    }

  private:
    void Sample(const FlowRecord& record);
    /// Starts the sample: from here on there are more records than rows.
    void BeginSample();
    /// Keeps only the records with the least draws. \param size fewer than there are
    void KeepLeast(std::size_t size);
    void Write(const FlowRecord& record);

    const std::vector<std::string>& m_endpoints;
    const std::vector<std::string>& m_tags;
    std::string m_path;
    std::mt19937_64 m_random;
    uint64_t m_seed;
    std::size_t m_rowLimit;
    std::size_t m_slowestLimit;
    LineLog m_file;
    std::string m_line;

    /// Totals of messages with an owner.
    struct Owner
    {
        bool aside = false;
        FlowTotals totals;
    };

    std::vector<std::string> m_classes;
    std::vector<ClassTotals> m_classTotals;
    FlowTotals m_all; //!< totals of all messages except those aside
    std::vector<Owner> m_owners;
    std::vector<uint32_t> m_ownerOf; //!< by tag
    uint64_t m_added{0};             //!< those aside too
    uint64_t m_rows{0};
    /// All records; then those of the least draws, and some that came since they were last chosen.
    std::deque<FlowRecord> m_sample;
    std::vector<uint32_t> m_draws;     //!< by place in m_sample, once it is a sample
    uint32_t m_mostDraw{0};            //!< a record with a larger draw is not in the sample
    std::vector<FlowRecord> m_slowest; //!< min-heap by slowdown, once there are more than rowLimit
};

} // namespace reports

#endif /* REPORTS_TABLES_FLOW_TABLE_H */
