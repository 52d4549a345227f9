;; One tag may serve `throw`, `suspend`, `switch` and events.
;; Each operation only finds handlers of its own kind.

(module
  (type $f (func))
  (type $k (cont $f))
  (rec (type $sf (func (param (ref null $sk)))) (type $sk (cont $sf)))
  (tag $e)
  (tag $done (param i32))
  (elem declare func $suspends $resumer $switches $takes $dismounts $swapped)
  (global $f (mut fiberref) (ref.null fiber))

  ;; A `throw` passes a mount with a clause for the tag.
  (func $throws (param $self fiberref) (throw $e))
  (func (export "thrown") (result i32)
    (block $event
      (block $exception
        (try_table (catch $e $exception)
          (fiber.mount $e (on $e $event) (fiber.new (on $e $throws))))
        (unreachable))
      (return (i32.const 1)))
    (i32.const 2))

  ;; An event leaves a try_table that catches the tag.
  (func $sends (param $self fiberref)
    (block $exception
      (try_table (catch $e $exception) (catch_all $exception)
        (fiber.dismount $e (local.get $self)))
      (unreachable))
    (unreachable))
  (func (export "sent") (result i32)
    (block $event
      (block $exception
        (try_table (catch $e $exception)
          (fiber.mount $e (on $e $event) (fiber.new (on $e $sends))))
        (unreachable))
      (return (i32.const 1)))
    (i32.const 2))

  ;; A `suspend` passes a mount with a clause for the tag.
  (func $suspends (suspend $e))
  (func $in-fiber (param $self fiberref) (result i32) (suspend $e) (i32.const 5))
  (func $resumer
    (block $event
      (block $done (result i32)
        (fiber.mount $e (on $done $done) (on $e $event) (fiber.new $done (on $e $in-fiber)))
        (unreachable))
      (drop)
      (return))
    (unreachable))
  (func (export "suspended") (result i32)
    (block $h (result (ref $k))
      (resume $k (on $e $h) (cont.new $k (ref.func $resumer)))
      (return (i32.const 1)))
    (resume $k)
    (i32.const 2))
  (func (export "suspended on the root") (result i32)
    (block $event
      (fiber.mount $e (on $e $event) (fiber.new $done (on $e $in-fiber)))
      (unreachable))
    (i32.const 1))

  ;; A dismount passes a `resume` with a clause for the tag.
  (func $dismounts (fiber.dismount $e (global.get $f)))
  (func $resumes (param $self fiberref)
    (global.set $f (local.get $self))
    (block $h (result (ref $k))
      (resume $k (on $e $h) (cont.new $k (ref.func $dismounts)))
      (unreachable))
    (unreachable))
  (func (export "dismounted") (result i32)
    (block $event
      (fiber.mount $e (on $e $event) (fiber.new (on $e $resumes)))
      (return (i32.const 1)))
    (i32.const 2))

  ;; A `switch` inside a fiber uses the handler outside of it.
  (func $takes (type $sf))
  (func $switches (drop (switch $sk $e (cont.new $sk (ref.func $takes)))))
  (func $swaps (param $self fiberref) (result i32) (call $switches) (i32.const 6))
  (func $swapped
    (block $other (result (ref fiber))
      (fiber.mount_new $done $swaps (on $e $other))
      (drop)
      (drop)
      (return))
    (unreachable))
  (func (export "switched, no handler") (call $swapped))
  (func (export "switched") (result i32)
    (resume $k (on $e switch) (cont.new $k (ref.func $swapped)))
    (i32.const 3)))

(assert_return (invoke "thrown") (i32.const 1))
(assert_return (invoke "sent") (i32.const 2))
(assert_return (invoke "suspended") (i32.const 2))
(assert_suspension (invoke "suspended on the root") "unhandled tag")
(assert_return (invoke "dismounted") (i32.const 2))
(assert_suspension (invoke "switched, no handler") "unhandled tag")
(assert_return (invoke "switched") (i32.const 3))
