// SPDX-License-Identifier: GPL-2.0-only
// flows.csv: all rows, or a seeded sample and the slowest.
#include "reports/tables/flow-table.h"
#include "scratch-folder.h"

#include <cmath>
#include <set>

namespace reports
{
namespace
{

constexpr std::size_t ROWS = 2000;
constexpr std::size_t SLOWEST = 20;
constexpr uint64_t COUNT = 50000;

FlowRecord
Record(uint64_t i)
{
    FlowRecord record;
    record.flow = i;
    record.bytes = 1000 + i;
    record.start = static_cast<int64_t>(i) * 1000000;
    record.ideal = 1000000;
    // Every 97th is slow, and ever slower.
    record.end = record.start + record.ideal + (i % 97 == 0 ? static_cast<int64_t>(i) * 1000 : 0);
    record.src = static_cast<uint32_t>(i % 2);
    record.dst = 1 - record.src;
    if (i % 2)
    {
        record.fromGpu = 10;
        record.toGpu = 20;
    }
    return record;
}

class FlowTableFile : public ScratchFolder
{
  protected:
    std::string WriteFlows(const std::string& name, uint64_t count, uint64_t seed) const
    {
        FlowTable table(Path(name), m_names, m_tags, seed, ROWS, SLOWEST);
        for (uint64_t i = 0; i < count; ++i)
        {
            table.Add(Record(i));
        }
        table.Finish();
        EXPECT_EQ(table.GetCount(), count) << "all are counted";
        EXPECT_EQ(table.GetRows(), ReadRows(Path(name)).size());
        return Path(name);
    }

    const std::vector<std::string> m_names{"a", "b"};
    const std::vector<std::string> m_tags{"x"};
};

TEST_F(FlowTableFile, HasEveryMessageUpToItsLimit)
{
    const auto rows = ReadRows(WriteFlows("few.csv", ROWS, 1));
    ASSERT_EQ(rows.size(), ROWS);
    ASSERT_EQ(rows[3].size(), 11U);
    EXPECT_EQ(rows[3][0] + rows[3][1] + rows[3][2] + rows[3][8], "3bax");
    EXPECT_EQ(rows[3][9] + rows[3][10], "1020") << "GPUs";
    ASSERT_EQ(rows[2].size(), 10U) << "between hosts: the last field is empty";
    EXPECT_EQ(rows[2][9], "") << "between hosts";
}

TEST_F(FlowTableFile, IsThenASeededSampleAndTheSlowest)
{
    const std::string many = WriteFlows("many.csv", COUNT, 1);
    EXPECT_EQ(ReadAll(many), ReadAll(WriteFlows("again.csv", COUNT, 1))) << "same seed";
    EXPECT_NE(ReadAll(many), ReadAll(WriteFlows("other.csv", COUNT, 2))) << "other seed";
    std::set<uint64_t> flows;
    double sum = 0;
    for (const auto& row : ReadRows(many))
    {
        flows.insert(std::stoull(row[0]));
        sum += std::stod(row[0]);
    }
    EXPECT_LE(flows.size(), ROWS) << "bounded";
    EXPECT_GE(flows.size(), ROWS - SLOWEST) << "the sample alone has so many";
    uint64_t slow = (COUNT - 1) / 97 * 97;
    for (std::size_t i = 0; i < SLOWEST; ++i, slow -= 97)
    {
        EXPECT_EQ(flows.count(slow), 1U) << slow << ", one of the slowest";
    }
    // Uniform over the whole run: the mean is the middle, within five standard deviations.
    const double n = static_cast<double>(flows.size());
    EXPECT_NEAR(sum / n, COUNT / 2.0, 5 * COUNT / std::sqrt(12 * n));
}

} // namespace
} // namespace reports
