// throwaway: step of pipeline rows without packets and contention, one rank a stage
#include "parse-words.h"
#include "scenarios/spec/cluster-options.h"
#include "scenarios/spec/collective-options.h"
#include "scenarios/training/message-match.h"
#include <fstream>
#include <gtest/gtest.h>
#include <map>
using namespace scenario;
using namespace training;
namespace {
double Step(const TrainingScenario& s)
{
    const auto& plan = s.plan;
    const uint32_t gpus = s.cluster.server.gpus;
    // one rank a role
    std::map<uint32_t, coll::Rank> rankOfRole;
    for (coll::Rank r = 0; r < plan.ranks; ++r) rankOfRole.emplace(plan.roleOf[r], r);
    std::map<std::pair<uint32_t, coll::Rank>, std::pair<uint32_t,uint32_t>> where;
    std::vector<coll::Rank> ranks;
    for (auto& [role, rank] : rankOfRole) ranks.push_back(rank);
    struct W { const StepGraph* g; std::vector<double> end; std::vector<std::vector<TaskId>> streams; std::vector<size_t> next; std::vector<double> free; };
    std::map<coll::Rank, W> walks;
    for (auto r : ranks) { W w; w.g = &plan.roles[plan.roleOf[r]]; w.end.assign(w.g->tasks.size(), -1); w.streams.resize(w.g->streams.size()); for (TaskId i = 0; i < w.g->tasks.size(); ++i) w.streams[w.g->tasks[i].stream].push_back(i); w.next.assign(w.streams.size(), 0); w.free.assign(w.streams.size(), 0); walks[r] = std::move(w); }
    std::map<std::tuple<uint32_t, coll::Op, uint64_t>, double> cost;
    std::map<std::tuple<uint32_t, coll::Rank, coll::Rank, uint16_t>, std::vector<double>> sent;
    std::map<std::tuple<uint32_t, coll::Rank, coll::Rank, uint16_t>, size_t> taken;
    const double nic = double(s.fabric.nicRate.bps) / 8 * s.cluster.server.nics / gpus;
    const double inside = s.collectives.machine.insideRate;
    bool moved = true;
    while (moved) { moved = false;
      for (auto& [r, w] : walks) for (size_t st = 0; st < w.streams.size(); ++st) while (w.next[st] < w.streams[st].size()) {
        TaskId id = w.streams[st][w.next[st]]; const Task& t = w.g->tasks[id]; double begin = w.free[st]; bool ok = true;
        for (auto b : t.after) { if (w.end[b] < 0) { ok = false; break; } begin = std::max(begin, w.end[b]); }
        if (!ok) break;
        double end = begin;
        if (t.kind == TaskKind::kSend) { auto peer = PeerOf(plan, r, t); double rate = peer / gpus == r / gpus ? inside : nic; end = begin + 10e-6 + t.bytes / rate; sent[{t.group, r, peer, t.tag}].push_back(end); }
        else if (t.kind == TaskKind::kRecv) { auto peer = PeerOf(plan, r, t); auto key = std::make_tuple(t.group, peer, r, t.tag); if (taken[key] >= sent[key].size()) break; end = std::max(begin, sent[key][taken[key]++]); }
        else if (t.kind == TaskKind::kCollective) {
          auto key = std::make_tuple(t.group, t.op, t.bytes); auto f = cost.find(key);
          if (f == cost.end()) { const auto& groups = plan.groupKinds[t.group].groups; const std::vector<coll::Rank>* g = &groups[0]; for (auto& x : groups) if (std::find(x.begin(), x.end(), r) != x.end()) g = &x;
            double sec = g->size() < 2 ? 0 : ChoiceOf(s.collectives, {t.op, t.bytes, coll::Rank(g->size()), 0, t.blocks}, PlacementOf(s.cluster, *g)).seconds; f = cost.emplace(key, sec).first; }
          end = begin + f->second; }
        else end = begin + t.duration.Seconds();
        w.end[id] = end; w.free[st] = end; ++w.next[st]; moved = true; } }
    double end = 0; for (auto& [r, w] : walks) for (double e : w.end) { if (e < 0) return -1; end = std::max(end, e); }
    return end;
}
}
TEST(ZzMeasure, Rows)
{
    std::ifstream in("/tmp/s15x/rows.txt"); std::string line;
    while (std::getline(in, line)) {
        const auto tab = line.find('\t'); const std::string name = line.substr(0, tab), args = line.substr(tab + 1);
        double v[2]; int i = 0; 
        for (const char* extra : {"", " --pipeline-sends=awaited"}) {
            auto p = ParseWords<TrainingScenario>(args + extra);
            if (!p.scenario) { printf("%s: %s\n", name.c_str(), p.errors.front().Text().c_str()); v[i++] = 0; continue; }
            v[i++] = Step(*p.scenario);
        }
        printf("ROW %s %.4f %.4f\n", name.c_str(), v[0], v[1]); fflush(stdout);
    }
}
