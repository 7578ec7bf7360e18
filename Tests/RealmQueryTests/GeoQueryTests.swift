// GEOWITHIN: regions on a sphere, as in Realm's engine. queries.tsv has more of them.

import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Queries for places")
struct GeoQueryTests {
  private func keys(_ text: String, _ arguments: [String] = []) throws -> [Int64] {
    let snapshot = try Fixture.named("queries/graph").snapshot()
    let table = try #require(try snapshot.table(named: "class_Place"))
    return try ObjectQuery([.given(text, texts: arguments)], of: table, in: snapshot).keys().map(\.value)
  }

  private static let outer = "{[-1.6, -1.7], [2.4, -1.7], [2.4, 2.6], [-1.6, 2.6], [-1.6, -1.7]}"
  private static let inside: [Int64] = [5, 6, 13, 19, 24, 27, 30, 37, 39]

  @Test(
    "circles, boxes and polygons contain the points that the engine finds in them",
    arguments: [
      ("geoCircle([0.9, 0.4], 0.03)", [5, 13, 19, 24, 30, 37, 39]),
      // It includes both sides of the 180th meridian.
      ("geoCircle([180, 0], 0.03)", [3, 8, 10, 12]),
      ("geoBox([-1.6, -1.7], [2.4, 2.6])", inside), ("geoBox([2.4, 2.6], [-1.6, -1.7])", inside),
      ("geoPolygon(\(outer))", inside),
      ("geoPolygon({[-1.6, -1.7], [-1.6, 2.6], [2.4, 2.6], [2.4, -1.7], [-1.6, -1.7]})", inside),
      // The point of object 13 is in the hole.
      (
        "geoPolygon(\(outer), {[0.6, 0.3], [1.4, 0.3], [1.4, 1.3], [0.6, 1.3], [0.6, 0.3]})",
        inside.filter { $0 != 13 }
      ),
      // An altitude is ignored.
      ("geoCircle([0.9, 0.4, 100.5], 0.03)", [5, 13, 19, 24, 30, 37, 39]),
    ] as [(String, [Int64])]
  )
  func shapes(_ shape: String, _ expected: [Int64]) throws {
    #expect(try keys("spot GEOWITHIN \(shape)") == expected)
    #expect(try keys("spot GEOWITHIN $0", [shape]) == expected)
  }

  @Test("a circle around the earth contains all points, but not objects of other types or without a latitude")
  func onlyPoints() throws {
    let all = try keys("spot != null")
    #expect(try keys("spot GEOWITHIN geoCircle([0, 0], 3.2)") == all.filter { $0 != 11 && $0 != 31 })
  }

  @Test(
    "ANY, ALL and NONE count the objects of a path in the region; ALL is false without objects",
    arguments: [
      ("spots", [0, 1, 2, 6, 7, 10, 17, 18, 20, 22, 30, 31]),
      ("ANY spots", [0, 1, 2, 6, 7, 10, 17, 18, 20, 22, 30, 31]),
      ("ALL spots", [7, 31]), ("near.spot", [6, 26, 30]),
    ] as [(String, [Int64])]
  )
  func quantifiers(_ path: String, _ expected: [Int64]) throws {
    #expect(try keys("\(path) GEOWITHIN geoCircle([1, 1], 0.03)") == expected)
  }

  @Test("NONE and NOT find the objects that ANY does not find")
  func none() throws {
    let any = try keys("ANY spots GEOWITHIN geoCircle([1, 1], 0.03)")
    let others = try keys("TRUEPREDICATE").filter { !any.contains($0) }
    #expect(try keys("NONE spots GEOWITHIN geoCircle([1, 1], 0.03)") == others)
    #expect(try keys("NOT spots GEOWITHIN geoCircle([1, 1], 0.03)") == others)
  }

  @Test(
    "an error in a region points at the column",
    arguments: [
      ("spot GEOWITHIN geoCircle([0, 91], 1)", 6, "a latitude in -90...90"),
      ("spot GEOWITHIN geoCircle([0, 0], -1.0)", 6, "must be zero or more radians"),
      ("spot GEOWITHIN geoPolygon({[0, 0], [1, 0], [1, 1]})", 6, "repeat the first point at the end"),
      ("spot GEOWITHIN geoPolygon({[0, 0], [1, 0], [0, 0]})", 6, "three different points"),
      ("spot GEOWITHIN geoPolygon({[0, 0], [1, 1], [1, 0], [0, 1], [0, 0]})", 6, "two edges of a ring cross"),
      (
        "spot GEOWITHIN geoPolygon(\(outer), {[5, 5], [6, 5], [6, 6], [5, 5]})", 6,
        "a hole is outside the first ring"
      ),
      (
        "spot GEOWITHIN geoPolygon(\(outer), {[0, 0], [6, 0.5], [0, 1], [0, 0]})", 6, "two rings of the polygon cross"
      ),
      ("spot GEOWITHIN geoBox([0, 0])", 29, "expected ','"), ("spot GEOWITHIN geoCircle([0], 1)", 28, "expected ','"),
      ("spot GEOWITHIN geoCircle(['x', 0], 1)", 27, "a longitude in degrees"),
      ("spot GEOWITHIN $0", 16, "in the text of the region, column 14: expected ','"),
      ("id GEOWITHIN geoCircle([0, 0], 1)", 4, "a path to objects with GeoJSON points"),
      ("near GEOWITHIN geoCircle([0, 0], 1)", 6, "a string \"type\" and a list of doubles \"coordinates\""),
      ("3 GEOWITHIN geoCircle([0, 0], 1)", 1, "a path before it"),
    ] as [(String, Int, String)]
  )
  func wrongRegions(text: String, column: Int, problem: String) throws {
    do {
      _ = try keys(text, ["geoBox([0, 0])"])
      Issue.record("'\(text)' was taken")
    } catch let error as InputError {
      #expect(error.column == column, "\(error)")
      #expect(error.problem.contains(problem), "\(error)")
    }
  }
}
