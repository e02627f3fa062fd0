/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The yardstick of scripts/bench: how many frame-hops a second this machine gives to a bare data
 * plane. A permutation on a k-ary fat-tree, full frames of 4,096 B, an ACK for each, ECMP, queues
 * without end; no PFC, ECN or congestion control, no traces, no statistics but counts.
 *
 *     c++ -O3 -march=native -std=c++17 -pthread yardstick.cc && ./a.out K BYTES THREADS
 *
 * K: ports of a switch, even, 4 to 64. BYTES: what each of the K^3/4 hosts sends. THREADS: 1 to K.
 *
 * There is no event set of the whole network. Time goes in windows as long as the delay of a cable:
 * what a node sends in a window arrives in a later one, so each node can run its own events to the
 * window's end without looking at any other, and its state is read from memory once for dozens of
 * them. In between, what was sent is handed over. Threads own nodes by pods, and meet twice a
 * window:
 *
 *     each node: take what was sent to it | meet | each node: run its events | meet | ...
 *
 * A frame-hop is a frame that has arrived at the end of a cable; ACKs count.
 */
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iomanip>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace
{

using Time = int64_t; // ps
constexpr Time NEVER = std::numeric_limits<Time>::max();

// As dltrain's defaults, but for what a switch takes to look at a frame.
constexpr Time CABLE_DELAY = 1'000'000;
constexpr Time PS_PER_BYTE = 80; // 100 Gb/s
constexpr uint32_t PAYLOAD = 4096;
constexpr uint16_t DATA_BYTES = PAYLOAD + 62; // Ethernet 14 + 4, IPv4 20, UDP 8, BTH 12, ICRC 4
constexpr uint16_t ACK_BYTES = 66;            // the same and AETH 4
constexpr uint16_t LINE_BYTES = 20;           // preamble 8, gap 12
// A host's unacknowledged packets: 400 kB, three times what a path holds. It bounds the queues
// where ECMP puts several flows on one cable.
constexpr uint32_t WINDOW = 98;

struct alignas(64) Frame // a cache line
{
    Frame* next; // of the list that it is in
    Time arrival;
    uint32_t from;
    uint32_t to;
    uint16_t bytes;
    bool ack;
};

/// Frames one behind another.
struct FrameList
{
    Frame* first = nullptr;
    Frame* last = nullptr;

    void Append(Frame* frame)
    {
        frame->next = nullptr;
        (first ? last->next : first) = frame;
        last = frame;
    }

    void AppendAll(FrameList& other)
    {
        (first ? last->next : first) = other.first;
        last = other.last;
        other = {};
    }

    Frame* Take()
    {
        Frame* frame = first;
        first = frame->next;
        return frame;
    }
};

/// Frames that are in no list. One for each thread: a frame comes back to its sender as the ACK.
class FramePool
{
  public:
    Frame* Get()
    {
        if (!m_free.first)
        {
            m_blocks.push_back(std::make_unique<std::array<Frame, 1024>>());
            for (Frame& frame : *m_blocks.back())
            {
                m_free.Append(&frame);
            }
        }
        return m_free.Take();
    }

    /// The last one that came back is the first to go: it is in the cache.
    void Put(Frame* frame)
    {
        if (!m_free.first)
        {
            m_free.last = frame;
        }
        frame->next = m_free.first;
        m_free.first = frame;
    }

  private:
    FrameList m_free;
    std::vector<std::unique_ptr<std::array<Frame, 1024>>> m_blocks;
};

/// One direction of a cable. Arrivals are in order of time, as frames left one after another.
struct Cable
{
    FrameList sent;     ///< in this window; the sender's
    FrameList arriving; ///< from earlier windows; the receiver's
};

struct Port
{
    Cable* out = nullptr;
    Cable* in = nullptr;
    FrameList queue; ///< frames that wait
    Time free = 0;   ///< when the last frame has left
};

/// What happens next at a port: the first of its arriving frames is there, or its next frame can
/// leave. Events of one time go by port, so that the order is the same for every number of threads.
struct Event
{
    Time time;
    uint32_t what; ///< 2 x port, + 1: a frame leaves

    bool operator<(const Event& other) const
    {
        return time < other.time || (time == other.time && what < other.what);
    }
};

/// A node's own events: a binary heap of at most two for each of its ports.
class EventSet
{
  public:
    explicit EventSet(size_t ports)
        : m_heap(2 * ports)
    {
    }

    Time Next() const
    {
        return m_size ? m_heap[0].time : NEVER;
    }

    const Event& First() const
    {
        return m_heap[0];
    }

    void Add(Event event)
    {
        size_t place = m_size++;
        for (; place > 0 && event < m_heap[(place - 1) / 2]; place = (place - 1) / 2)
        {
            m_heap[place] = m_heap[(place - 1) / 2];
        }
        m_heap[place] = event;
    }

    void ReplaceFirst(Event event)
    {
        size_t place = 0;
        for (size_t child = 1; child < m_size; child = 2 * place + 1)
        {
            child += child + 1 < m_size && m_heap[child + 1] < m_heap[child];
            if (event < m_heap[child])
            {
                break;
            }
            m_heap[place] = m_heap[child];
            place = child;
        }
        m_heap[place] = event;
    }

    void RemoveFirst()
    {
        if (--m_size)
        {
            ReplaceFirst(m_heap[m_size]);
        }
    }

  private:
    std::vector<Event> m_heap;
    size_t m_size = 0;
};

enum class Kind
{
    HOST,
    EDGE,
    AGGREGATION,
    CORE
};

struct Node
{
    Node(Kind kind, uint32_t pod, uint32_t index, uint32_t ports)
        : kind(kind),
          pod(pod),
          index(index),
          ports(ports),
          events(ports)
    {
    }

    Kind kind;
    uint32_t pod;
    uint32_t index; ///< of a host: its address; of a switch: in its pod, of a core: in all
    std::vector<Port> ports;
    EventSet events;
    Time next = 0;        ///< of its events, once frames were handed over
    uint32_t peer = 0;    ///< a host's: to whom it sends
    uint64_t unsent = 0;  ///< packets
    uint32_t unacked = 0; ///< packets
};

/// What a thread has of its own.
struct alignas(64) Worker
{
    std::vector<Node> nodes;
    FramePool frames;
    Time next = NEVER; ///< of all its nodes; others read it between the two meetings of a window
    uint64_t hops = 0;
    uint64_t events = 0;
    uint64_t packets = 0;
    uint64_t windows = 0;
};

/// Threads wait here for each other. They spin, since a window is some microseconds; but if there
/// are fewer idle cores than threads, whoever waits has to let the others run.
class Meeting
{
  public:
    explicit Meeting(uint32_t threads)
        : m_threads(threads)
    {
    }

    /// `arrivals` is the caller's own, 0 at first.
    void Wait(uint64_t& arrivals)
    {
        arrivals += m_threads;
        m_arrived.fetch_add(1, std::memory_order_acq_rel);
        for (uint32_t spins = 1; m_arrived.load(std::memory_order_acquire) < arrivals; spins++)
        {
            if (spins % 2048 == 0)
            {
                std::this_thread::yield();
            }
        }
    }

  private:
    const uint32_t m_threads;
    alignas(64) std::atomic<uint64_t> m_arrived{0};
};

class Yardstick
{
  public:
    Yardstick(uint32_t k, uint64_t bytes, uint32_t threads)
        : m_k(k),
          m_half(k / 2),
          m_hosts(k * m_half * m_half),
          m_workers(threads),
          m_meeting(threads)
    {
        MakeNodes();
        MakeCables();
        for (Worker& worker : m_workers)
        {
            for (Node& node : worker.nodes)
            {
                if (node.kind == Kind::HOST)
                {
                    // Never the same pod: k/2 or k/2 + 1 pods on.
                    node.peer = (node.index + m_hosts / 2 + 1) % m_hosts;
                    node.unsent = (bytes + PAYLOAD - 1) / PAYLOAD;
                    worker.packets += node.unsent;
                    Send(node, worker, 0);
                }
            }
        }
    }

    /// Wall time in s.
    double Run()
    {
        const auto begin = std::chrono::steady_clock::now();
        std::vector<std::thread> threads;
        for (size_t i = 1; i < m_workers.size(); i++)
        {
            threads.emplace_back([this, i] { Work(m_workers[i]); });
        }
        Work(m_workers[0]);
        for (std::thread& thread : threads)
        {
            thread.join();
        }
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    }

    /// Prints what was done; false: something was lost.
    bool Report(double seconds) const
    {
        uint64_t hops = 0;
        uint64_t events = 0;
        uint64_t packets = 0;
        for (const Worker& worker : m_workers)
        {
            hops += worker.hops;
            events += worker.events;
            packets += worker.packets;
        }
        std::cout << "yardstick k=" << m_k << " hosts=" << m_hosts
                  << " threads=" << m_workers.size() << " packets=" << packets << " hops=" << hops
                  << " events=" << events << " windows=" << m_workers[0].windows << std::fixed
                  << std::setprecision(4) << " wall_s=" << seconds
                  << " Mhop/s=" << static_cast<double>(hops) * 1e-6 / seconds << std::endl;
        return hops == 12 * packets; // three cables up and three down, and as many for the ACK
    }

  private:
    // ---- the network

    /// Nodes of a thread stand one behind another in memory: pods, and a share of the core.
    void MakeNodes()
    {
        const auto threads = static_cast<uint32_t>(m_workers.size());
        m_edges.resize(m_k * m_half);
        m_aggregations.resize(m_k * m_half);
        m_cores.resize(m_half * m_half);
        m_hostNodes.resize(m_hosts);
        for (uint32_t i = 0; i < threads; i++)
        {
            // Pointers to nodes stay what they are: no vector may grow later.
            m_workers[i].nodes.reserve(m_k * (m_half * m_half + m_k) + m_half * m_half);
            const auto add = [this, i](auto& where, Kind kind, uint32_t pod, uint32_t index) {
                const uint32_t ports = kind == Kind::HOST ? 1 : m_k;
                return where = &m_workers[i].nodes.emplace_back(kind, pod, index, ports);
            };
            for (uint32_t pod = i * m_k / threads; pod < (i + 1) * m_k / threads; pod++)
            {
                const uint32_t first = pod * m_half * m_half;
                for (uint32_t j = first; j < first + m_half * m_half; j++)
                {
                    add(m_hostNodes[j], Kind::HOST, pod, j);
                }
                for (uint32_t j = 0; j < m_half; j++)
                {
                    add(m_edges[pod * m_half + j], Kind::EDGE, pod, j);
                }
                for (uint32_t j = 0; j < m_half; j++)
                {
                    add(m_aggregations[pod * m_half + j], Kind::AGGREGATION, pod, j);
                }
            }
            const uint32_t cores = m_half * m_half;
            for (uint32_t j = i * cores / threads; j < (i + 1) * cores / threads; j++)
            {
                add(m_cores[j], Kind::CORE, 0, j);
            }
        }
    }

    /// Ports below k/2 lead down, the others up; core switch i * k/2 + j is at port k/2 + j of
    /// aggregation switch i of every pod.
    void MakeCables()
    {
        m_cables.resize(2 * 3 * static_cast<size_t>(m_hosts));
        size_t made = 0;
        const auto connect = [this, &made](Node* low, uint32_t up, Node* high, uint32_t down) {
            Cable* rising = &m_cables[made++];
            Cable* falling = &m_cables[made++];
            low->ports[up].out = high->ports[down].in = rising;
            low->ports[up].in = high->ports[down].out = falling;
        };
        for (uint32_t pod = 0; pod < m_k; pod++)
        {
            for (uint32_t i = 0; i < m_half; i++)
            {
                for (uint32_t j = 0; j < m_half; j++)
                {
                    Node* edge = m_edges[pod * m_half + i];
                    Node* aggregation = m_aggregations[pod * m_half + i];
                    Node* above = m_aggregations[pod * m_half + j];
                    connect(m_hostNodes[(pod * m_half + i) * m_half + j], 0, edge, j);
                    connect(edge, m_half + j, above, i);
                    connect(aggregation, m_half + j, m_cores[i * m_half + j], pod);
                }
            }
        }
    }

    /// Which of the k/2 ways up: the same for all frames of one host to another (ECMP), and chosen
    /// anew at each switch, by a multiplication with 2^64 over the golden ratio.
    uint32_t Way(const Node& node, const Frame& frame) const
    {
        const uint64_t pair = static_cast<uint64_t>(frame.from) << 32 | frame.to;
        const uint64_t salt = node.kind == Kind::EDGE ? 2 * node.index : 2 * node.index + 1;
        uint64_t mixed = (pair + salt) * 0x9E3779B97F4A7C15ULL;
        mixed = (mixed ^ mixed >> 32) * 0x9E3779B97F4A7C15ULL;
        return static_cast<uint32_t>(mixed >> 40) % m_half;
    }

    uint32_t PortTo(const Node& node, const Frame& frame) const
    {
        const uint32_t edge = frame.to / m_half; // of all
        const uint32_t pod = edge / m_half;
        switch (node.kind)
        {
        case Kind::HOST:
            return 0;
        case Kind::EDGE:
            return pod == node.pod && edge % m_half == node.index ? frame.to % m_half
                                                                  : m_half + Way(node, frame);
        case Kind::AGGREGATION:
            return pod == node.pod ? edge % m_half : m_half + Way(node, frame);
        case Kind::CORE:
            break;
        }
        return pod;
    }

    // ---- events

    static void Transmit(Port& port, Frame* frame, Time now)
    {
        port.free = now + (frame->bytes + LINE_BYTES) * PS_PER_BYTE;
        frame->arrival = port.free + CABLE_DELAY;
        port.out->sent.Append(frame);
    }

    void Forward(Node& node, Frame* frame, Time now) const
    {
        const uint32_t number = PortTo(node, *frame);
        Port& port = node.ports[number];
        if (port.queue.first)
        {
            port.queue.Append(frame);
        }
        else if (now < port.free)
        {
            port.queue.Append(frame);
            node.events.Add({port.free, 2 * number + 1});
        }
        else
        {
            Transmit(port, frame, now);
        }
    }

    void Send(Node& host, Worker& worker, Time now) const
    {
        for (; host.unsent && host.unacked < WINDOW; host.unsent--, host.unacked++)
        {
            Frame* frame = worker.frames.Get();
            frame->from = host.index;
            frame->to = host.peer;
            frame->bytes = DATA_BYTES;
            frame->ack = false;
            Forward(host, frame, now);
        }
    }

    void Receive(Node& host, Worker& worker, Frame* frame, Time now) const
    {
        if (frame->ack)
        {
            host.unacked--;
            worker.frames.Put(frame);
            Send(host, worker, now);
        }
        else // the frame goes back as its ACK
        {
            std::swap(frame->from, frame->to);
            frame->bytes = ACK_BYTES;
            frame->ack = true;
            Forward(host, frame, now);
        }
    }

    void RunNode(Node& node, Worker& worker, Time end) const
    {
        while (node.events.Next() < end)
        {
            const Event event = node.events.First();
            Port& port = node.ports[event.what / 2];
            worker.events++;
            if (event.what % 2)
            {
                Transmit(port, port.queue.Take(), event.time);
                SetFirst(node, {port.queue.first ? port.free : NEVER, event.what});
                continue;
            }
            Frame* frame = port.in->arriving.Take();
            const Frame* following = port.in->arriving.first;
            worker.hops++;
            SetFirst(node, {following ? following->arrival : NEVER, event.what});
            if (node.kind == Kind::HOST)
            {
                Receive(node, worker, frame, event.time);
            }
            else
            {
                Forward(node, frame, event.time);
            }
        }
        node.next = node.events.Next();
    }

    /// The first event has happened; this is the next of its kind.
    static void SetFirst(Node& node, Event event)
    {
        if (event.time == NEVER)
        {
            node.events.RemoveFirst();
        }
        else
        {
            node.events.ReplaceFirst(event);
        }
    }

    // ---- windows

    /// Takes over what was sent to the node in the last window.
    static void TakeOver(Node& node)
    {
        for (uint32_t i = 0; i < node.ports.size(); i++)
        {
            Cable& cable = *node.ports[i].in;
            if (cable.sent.first)
            {
                const bool waits = cable.arriving.first; // for an event that is there already
                cable.arriving.AppendAll(cable.sent);
                if (!waits)
                {
                    node.events.Add({cable.arriving.first->arrival, 2 * i});
                }
            }
        }
        node.next = node.events.Next();
    }

    void Work(Worker& worker)
    {
        uint64_t arrivals = 0;
        while (true)
        {
            Time next = NEVER;
            for (Node& node : worker.nodes)
            {
                TakeOver(node);
                next = std::min(next, node.next);
            }
            worker.next = next;
            m_meeting.Wait(arrivals);
            for (const Worker& other : m_workers)
            {
                next = std::min(next, other.next);
            }
            if (next == NEVER)
            {
                return;
            }
            for (Node& node : worker.nodes)
            {
                if (node.next < next + CABLE_DELAY)
                {
                    RunNode(node, worker, next + CABLE_DELAY);
                }
            }
            worker.windows++;
            m_meeting.Wait(arrivals);
        }
    }

    const uint32_t m_k;
    const uint32_t m_half;
    const uint32_t m_hosts;
    std::vector<Node*> m_hostNodes;
    std::vector<Node*> m_edges;
    std::vector<Node*> m_aggregations;
    std::vector<Node*> m_cores;
    std::vector<Cable> m_cables;
    std::vector<Worker> m_workers;
    Meeting m_meeting;
};

/// A whole number of a range, or the end with status 2.
uint64_t
Whole(const std::string& name, const std::string& text, uint64_t least, uint64_t most)
{
    const bool digits = !text.empty() && text.size() <= 15 &&
                        text.find_first_not_of("0123456789") == std::string::npos;
    const uint64_t value = digits ? std::stoull(text) : 0;
    if (!digits || value < least || value > most)
    {
        std::cerr << "yardstick: error: " << name << ": '" << text << "'; allowed: " << least
                  << " to " << most << std::endl;
        std::exit(2);
    }
    return value;
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::cerr << "yardstick: error: three arguments are wanted: K BYTES THREADS" << std::endl;
        return 2;
    }
    const auto k = static_cast<uint32_t>(Whole("K", argv[1], 4, 64));
    if (k % 2)
    {
        std::cerr << "yardstick: error: K: '" << k << "'; allowed: even numbers" << std::endl;
        return 2;
    }
    const uint64_t bytes = Whole("BYTES", argv[2], 1, 1'000'000'000'000);
    const auto threads = static_cast<uint32_t>(Whole("THREADS", argv[3], 1, k));
    Yardstick yardstick(k, bytes, threads);
    if (!yardstick.Report(yardstick.Run()))
    {
        std::cerr << "yardstick: error: not 12 frame-hops a packet" << std::endl;
        return 1;
    }
    return 0;
}
